export { daysOf } from './days.js';
export { fieldNumbers, foldCron } from './fields.js';
export { cronTimes, nextTimes } from './times.js';
