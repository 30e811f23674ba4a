import {
  ActivityCancellationType,
  CancellationScope,
  condition,
  executeChild,
  isCancellation,
  patched,
  proxyActivities,
  proxyLocalActivities,
  sleep,
} from '@temporalio/workflow';
import type { LaneRef, RunActivities, Stop, Turn } from './contract.js';
import type { runFlow } from './run-flow.js';
import { canContinueAsNew, continueRunAsNew, during, holdIfDue, type RunState } from './run-state.js';

const { advance } = proxyActivities<RunActivities>({
  startToCloseTimeout: '10 years',
  // Workers send a heartbeat each second. One that is starved for five must not lose its lane to another attempt.
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
  // Explicit, although the docs call it the default: SDK 1.24 acts as TRY_CANCEL, and `close` would run beside a live
  // sandbox.
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});
const { begin } = proxyLocalActivities<RunActivities>({
  // For a worker whose main thread is blocked, as long as the time between two heartbeats may be.
  startToCloseTimeout: '10 seconds',
  retry: { maximumAttempts: 1 },
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});
const { tick } = proxyActivities<RunActivities>({ startToCloseTimeout: '30 seconds' });

const CHILD_POLL_MS = 5_000;

type Follow = {
  [K in Stop['kind']]: (stop: Extract<Stop, { kind: K }>, ref: LaneRef, run: RunState) => Promise<boolean>;
};

/** What a lane does at each stop: true continues it, false ends it. The reason is in the database. */
const follow: Follow = {
  done: async () => false,
  failed: async () => false,
  again: async () => true,
  later: async ({ at }, { lane }, run) => {
    run.later.set(lane, at);
    await waitForTime(lane, run);
    return true;
  },
  park: async ({ park, wakeAt }, _ref, run) => {
    const { woken, open } = run;
    open.add(park);
    const isWoken = () => woken.has(park);
    if (wakeAt === null) await condition(isWoken);
    else if (!(await condition(isWoken, Math.max(1, wakeAt - Date.now())))) {
      await during(run, 'busy', () => tick(park));
    }
    woken.delete(park);
    open.delete(park);
    return true;
  },
  fork: async (stop, { runId }, run) => {
    await runFork(stop, runId, run);
    return true;
  },
  subflow: async ({ runId, also = [] }, _ref, run) => {
    await holdIfDue(run);
    const ids = also.length > 0 && patched('2026-11-children') ? [runId, ...also] : [runId];
    const ended = await during(run, 'children', () => Promise.all(ids.map(followChild)));
    // A child's row may still be open under a workflow that is not our child: check again after a pause.
    if (ended.includes(false)) await sleep(CHILD_POLL_MS);
    return true;
  },
};

/**
 * Waits for a child run, whose outcome the next advance reads from its row. False when the child did not complete here.
 */
function followChild(runId: string): Promise<boolean> {
  return executeChild<typeof runFlow>('runFlow', {
    workflowId: runId,
    args: [{ runId }],
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    parentClosePolicy: 'REQUEST_CANCEL',
  }).then(() => true, unlessCancelled);
}

/**
 * A parallel group or an `each`: at most `parallel` lanes at once. With `any`, the first that succeeds cancels the
 * others.
 */
async function runFork(stop: Extract<Stop, { kind: 'fork' }>, runId: string, run: RunState): Promise<void> {
  const ended = new Set(stop.ended && patched('2026-11-ended-lanes') ? stop.ended : []);
  const numbers = Array.from({ length: stop.count }, (_, index) => index + 1).filter((number) => !ended.has(number));
  const next = numbers.values();
  await CancellationScope.cancellable(async () => {
    const scope = CancellationScope.current();
    const worker = async () => {
      for (const number of next) {
        const end = await runLane({ runId, lane: `${stop.fork}.${number}` }, run);
        if (end === 'done' && stop.join === 'any') scope.cancel();
      }
    };
    await Promise.allSettled(Array.from({ length: Math.min(stop.parallel, numbers.length) }, worker));
  }).catch(unlessCancelled);
}

/** Advances one lane from stop to stop until it ends. A parked lane holds no worker. */
export async function runLane(ref: LaneRef, run: RunState): Promise<Stop['kind']> {
  run.lanes += 1;
  try {
    await waitForTime(ref.lane, run);
    for (let stops = 0; ; stops += 1) {
      await holdIfDue(run);
      if (stops > 0 && canContinueAsNew(run)) await continueRunAsNew(ref.runId, run);
      const stop = await during(run, 'busy', () => advanceOnce(ref, run));
      const step = follow[stop.kind] as (s: Stop, r: LaneRef, run: RunState) => Promise<boolean>;
      if (!(await step(stop, ref, run))) return stop.kind;
    }
  } finally {
    run.lanes -= 1;
  }
}

function advanceOnce(ref: LaneRef, run: RunState): Promise<Stop> {
  run.turn += 1;
  const { turn, isLocal, carriedBy } = run;
  run.isLocal = false;
  run.carriedBy = null;
  if (isLocal) return beginLocally({ ...ref, turn }, run);
  return advance(carriedBy === null ? { ...ref, turn } : { ...ref, turn, carriedBy });
}

/**
 * Saves the run a second workflow task and an activity task. After a failure, or when the workflow task is repeated, the
 * next turn continues from the rows.
 */
async function beginLocally(turn: Turn, run: RunState): Promise<Stop> {
  const stop = await begin(turn).catch((error: unknown): Stop => {
    unlessCancelled(error);
    return { kind: 'again' };
  });
  if (stop.kind === 'again') run.carriedBy = stop.carriedBy ?? null;
  return stop;
}

async function waitForTime(lane: string, run: RunState): Promise<void> {
  const at = run.later.get(lane);
  if (at === undefined) return;
  await sleep(Math.max(1, at - Date.now()));
  run.later.delete(lane);
}

/** Ignores a failure, which is in the database, but rethrows the run's own cancellation. */
function unlessCancelled(error: unknown): false {
  if (isCancellation(error) && CancellationScope.current().consideredCancelled) throw error;
  return false;
}
