export { connectTemporal, connectWorker, type TemporalTarget } from './connect-temporal.js';
export type { KeptSchedule, Workflows } from './contract.js';
export { createRunWorker, type RunWorkerOptions, SHUTDOWN_GRACE_MS, workerVersion } from './create-run-worker.js';
export { createWorkflows, type LocalStarts, type WorkflowsOptions } from './create-workflows.js';
export { DrainedConnection } from './drained-connection.js';
export { installRuntime } from './install-runtime.js';
export { type KeepWorkerOptions, type KeptWorker, keepWorker } from './keep-worker.js';
export { LocalSlots } from './slots/local-slots.js';
export { type SwitchedWorkflows, switchWorkflows } from './switch-workflows.js';
