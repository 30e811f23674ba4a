import { CancellationScope, ContinueAsNew, continueAsNew, proxyActivities, setHandler } from '@temporalio/workflow';
import { approval, event, type RunActivities, type RunInput, waiting } from './contract.js';
import { runLane } from './lane.js';
import { allAtRest, newRunState, type RunState } from './run-state.js';

const { close } = proxyActivities<RunActivities>({ startToCloseTimeout: '1 minute' });

/** One run of a flow. The last advance closes the run's rows itself; here they are closed when the run is cut short. */
export async function runFlow({ runId, turn = 0, later = {} }: RunInput): Promise<void> {
  const run = newRunState(turn, later);
  setHandler(approval, (park) => void run.woken.add(park));
  setHandler(event, (park) => void run.woken.add(park));
  setHandler(waiting, () => [...run.open]);
  try {
    await Promise.race([runLane({ runId, lane: 'main' }, run), beginAnew(runId, run)]);
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    await CancellationScope.nonCancellable(() => close(runId));
    throw error;
  }
}

/**
 * Once every lane stands still, a new execution goes on with an empty history: it begins each open lane with
 * `advance`, which reads from the rows where the lane stands, a decision whose signal came in this moment included.
 */
async function beginAnew(runId: string, run: RunState): Promise<void> {
  await allAtRest(run);
  await continueAsNew<typeof runFlow>({ runId, turn: run.turn, later: Object.fromEntries(run.later) });
}
