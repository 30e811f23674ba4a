/** The workflows in the worker's bundle, exported by type name. */
export { applyPush } from './apply-push.js';
export { evalRun } from './eval-run.js';
export { fireSchedule } from './fire-schedule.js';
export { runFlow, runFlowLocal } from './run-flow.js';
export { testTool } from './test-tool.js';
