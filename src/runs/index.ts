export { type Decided, type DecideRunInput, decideRun } from './decide-run.js';
export { deleteRun } from './delete-run.js';
export { getRun, type RunView } from './get-run.js';
export { type ListRunsInput, listRuns } from './list-runs.js';
export { releaseEvent } from './release-event.js';
export type { RunSummary } from './run-summary.js';
export { type StartedRun, startRun } from './start-run.js';
export { stopRun } from './stop-run.js';
export { type StreamItem, streamRun } from './stream-run.js';
