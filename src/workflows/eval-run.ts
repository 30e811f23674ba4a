import {
  ActivityCancellationType,
  CancellationScope,
  continueAsNew,
  executeChild,
  isCancellation,
  proxyActivities,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { EvalActivities, EvalInput } from './contract.js';
import type { runFlow } from './run-flow.js';

const retry = { initialInterval: '1 second', maximumInterval: '1 minute' } as const;
const { openEval, beginAttempt, endEval, closeEval } = proxyActivities<EvalActivities>({
  startToCloseTimeout: '1 minute',
  retry,
});
const { gradeAttempt } = proxyActivities<EvalActivities>({
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '10 seconds',
  cancellationType: ActivityCancellationType.TRY_CANCEL,
  retry,
});

const AT_ONCE = 4;
const POLL_MS = 5_000;

/**
 * One run of an eval: four attempts at once, each with its own run and its grading. The results are in the database.
 */
export async function evalRun({ evalRunId, from = 0 }: EvalInput): Promise<void> {
  try {
    const count = await openEval(evalRunId);
    let next = from;
    const worker = async () => {
      while (next < count && !workflowInfo().continueAsNewSuggested) {
        const k = next;
        next += 1;
        if ((await runAttempt(evalRunId, k)) === 'over') next = count;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    if (next < count) await continueAsNew<typeof evalRun>({ evalRunId, from: next });
    await endEval(evalRunId);
  } catch (error) {
    if (isCancellation(error)) await CancellationScope.nonCancellable(() => closeEval(evalRunId));
    throw error;
  }
}

async function runAttempt(evalRunId: string, k: number): Promise<'on' | 'over'> {
  const begun = await beginAttempt(evalRunId, k);
  if (begun.kind === 'over') return 'over';
  if (begun.kind !== 'run') return 'on';
  const { runId } = begun;
  for (;;) {
    // Whatever happened to the child workflow, the grading reads the run's outcome from its row.
    const ended = await executeChild<typeof runFlow>('runFlow', {
      workflowId: runId,
      args: [{ runId }],
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      parentClosePolicy: 'REQUEST_CANCEL',
    }).then(() => true, unlessCancelled);
    if ((await gradeAttempt(evalRunId, k)) === 'graded') return 'on';
    // The run is open under a workflow that is not our child, or its workflow was cut short: check again after a pause.
    if (!ended) await sleep(POLL_MS);
  }
}

/** Ignores a failure, which is in the database, but rethrows the eval run's own cancellation. */
function unlessCancelled(error: unknown): false {
  if (isCancellation(error) && CancellationScope.current().consideredCancelled) throw error;
  return false;
}
