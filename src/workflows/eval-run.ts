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
const LOOK_MS = 5_000;

/** One run of an eval: four cases at once, each a run of its own and its grading. What they found is in the rows. */
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
    // The run's end is in its row; whatever happened to the workflow, the grading reads that.
    const ended = await executeChild<typeof runFlow>('runFlow', {
      workflowId: runId,
      args: [{ runId }],
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      parentClosePolicy: 'REQUEST_CANCEL',
    }).then(() => true, unlessCancelled);
    if ((await gradeAttempt(evalRunId, k)) === 'graded') return 'on';
    // Its row is open under a workflow that is not our child, or one that was cut: it is looked at again, not at once.
    if (!ended) await sleep(LOOK_MS);
  }
}

/** Lets a failure be read from the rows, but never swallows the eval run's own cancellation. */
function unlessCancelled(error: unknown): false {
  if (isCancellation(error) && CancellationScope.current().consideredCancelled) throw error;
  return false;
}
