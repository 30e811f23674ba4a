export { audit } from './audit.js';
