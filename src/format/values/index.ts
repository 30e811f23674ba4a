export { readCron } from './cron.js';
export { isNear } from './is-near.js';
export { parseMoney } from './money.js';
export { isInterpreterVersion, type PackageManager, parsePackage } from './packages.js';
export { compilePattern, isPattern, type Pattern } from './pattern.js';
export { isSender } from './sender.js';
export { isTimeZone } from './time-zone.js';
