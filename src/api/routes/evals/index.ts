import type { Route } from '../../define-route.js';
import { getEvalRun, getEvalRuns, stopOneEvalRun } from './eval-runs.js';
import { getEvals, postEval, postEvalRun } from './evals.js';

export const evalRoutes: readonly Route[] = [getEvals, postEval, postEvalRun, getEvalRuns, getEvalRun, stopOneEvalRun];
