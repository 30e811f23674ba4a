import { CancellationScope, ContinueAsNew, proxyActivities, setHandler } from '@temporalio/workflow';
import { approval, event, type RunActivities, type RunInput, waiting } from './contract.js';
import { runLane } from './lane.js';
import { allLanesHold, continueRunAsNew, newRunState, type RunState } from './run-state.js';

const { close } = proxyActivities<RunActivities>({ startToCloseTimeout: '1 minute' });

/**
 * One run of a flow. The last advance closes the run's rows; the workflow closes them only when the run is cut short.
 */
export function runFlow({ runId, turn = 0, later = {} }: RunInput): Promise<void> {
  return execute(runId, newRunState({ turn, later, isLocal: false }));
}

/**
 * The same, with the first advance as a local activity. It is a type of its own, so that a worker of an older build
 * fails the first task instead of recording a history that this build cannot replay.
 */
export function runFlowLocal({ runId }: RunInput): Promise<void> {
  return execute(runId, newRunState({ turn: 0, later: {}, isLocal: true }));
}

async function execute(runId: string, run: RunState): Promise<void> {
  setHandler(approval, (park) => void run.woken.add(park));
  setHandler(event, (park) => void run.woken.add(park));
  setHandler(waiting, () => [...run.open]);
  try {
    await Promise.race([
      runLane({ runId, lane: 'main' }, run),
      allLanesHold(run).then(() => continueRunAsNew(runId, run)),
    ]);
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    await CancellationScope.nonCancellable(() => close(runId));
    throw error;
  }
}
