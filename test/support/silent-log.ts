export { quietLog as silentLog } from '../../src/shared/log.js';
