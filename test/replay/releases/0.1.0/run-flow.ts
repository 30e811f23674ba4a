import {
  allHandlersFinished,
  CancellationScope,
  ContinueAsNew,
  continueAsNew,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { approval, event, type RunActivities, type RunInput, waiting } from './contract.js';
import { type Parks, runLane } from './lane.js';

const { close } = proxyActivities<RunActivities>({ startToCloseTimeout: '1 minute' });

/** One run of a flow. The last advance closes the run's rows itself; here they are closed when the run is cut short. */
export async function runFlow({ runId, turn = 0 }: RunInput): Promise<void> {
  const parks: Parks = { woken: new Set(), open: new Set(), turn };
  setHandler(approval, (park) => void parks.woken.add(park));
  setHandler(event, (park) => void parks.woken.add(park));
  setHandler(waiting, () => [...parks.open]);
  try {
    await runLane({ runId, lane: 'main' }, parks, () => renew(runId, parks));
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    await CancellationScope.nonCancellable(() => close(runId));
    throw error;
  }
}

/** Between two stops of the main lane no fork and no child is open: the one place where a long history may begin anew. */
async function renew(runId: string, parks: Parks): Promise<void> {
  if (workflowInfo().continueAsNewSuggested && allHandlersFinished()) {
    await continueAsNew<typeof runFlow>({ runId, turn: parks.turn });
  }
}
