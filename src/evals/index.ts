export { type CreatedEval, type CreateEvalInput, createEval } from './create-eval.js';
export type { EvalRunSummary } from './eval-run-rows.js';
export { evalWork } from './eval-work.js';
export { findEval } from './find-eval.js';
export { type EvalSummary, listEvals } from './list-evals.js';
export { listEvalRuns, readEvalRun, type WholeEvalRun } from './read-eval-runs.js';
export { runEval, type StartedEval } from './run-eval.js';
export { startEvalLoop } from './start-eval-loop.js';
export { stopEvalRun } from './stop-eval-run.js';
