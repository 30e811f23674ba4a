export { daysOf } from './days.js';
export { cronTimes, nextTimes } from './times.js';
