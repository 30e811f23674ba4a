export { auditSchedules } from './audit-schedules.js';
export { type ChangeScheduleInput, changeSchedule } from './change-schedule.js';
export { fireSchedule } from './fire-schedule.js';
export { listSchedules } from './list-schedules.js';
export { reconcileSchedules } from './reconcile-schedules.js';
export { startScheduleLoops } from './start-schedule-loops.js';
export { startWaiting } from './start-waiting.js';
export { syncSchedules } from './sync-schedules.js';
