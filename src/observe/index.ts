export { checkHealth } from './check-health.js';
export type { Scene } from './doctor/check.js';
export { examine, type Finding } from './doctor/examine.js';
export { reportOf } from './doctor/report.js';
