import type { Route } from '../../define-route.js';
import { approveRun, stopOneRun } from './decide-run.js';
import { getApprovals } from './list-approvals.js';
import { promoteOneRun } from './promote-run.js';
import { getArchive, getEvents, getTranscript } from './read-long.js';
import { deleteOneRun, getOneRun, getRuns } from './read-runs.js';
import { rerunOneRun } from './rerun-run.js';
import { startAgent, startFlow } from './start-flow.js';
import { streamOneRun } from './stream-run.js';

export const runRoutes: readonly Route[] = [
  startFlow,
  startAgent,
  getRuns,
  getOneRun,
  deleteOneRun,
  streamOneRun,
  getTranscript,
  getEvents,
  getArchive,
  approveRun,
  getApprovals,
  stopOneRun,
  rerunOneRun,
  promoteOneRun,
];
