export { checkHealth } from './check-health.js';
