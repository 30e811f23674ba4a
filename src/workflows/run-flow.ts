import { CancellationScope, ContinueAsNew, proxyActivities, setHandler } from '@temporalio/workflow';
import { approval, event, type RunActivities, type RunInput, waiting } from './contract.js';
import { runLane } from './lane.js';
import { allLanesHold, continueRunAsNew, newRunState } from './run-state.js';

const { close } = proxyActivities<RunActivities>({ startToCloseTimeout: '1 minute' });

/**
 * One run of a flow. The last advance closes the run's rows; the workflow closes them only when the run is cut short.
 */
export async function runFlow({ runId, turn = 0, later = {} }: RunInput): Promise<void> {
  const run = newRunState(turn, later);
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
