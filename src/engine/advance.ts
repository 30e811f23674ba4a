import { loadPlan } from '../content/index.js';
import type { Deps } from '../deps.js';
import { failpoint } from '../shared/failpoint.js';
import { errorMessage, Refusal } from '../shared/refusal.js';
import { type Loops, startLoops } from '../shared/repeat.js';
import { createLaneServers, dropLane } from '../tools/index.js';
import type { Stop, Turn } from '../workflows/contract.js';
import { endParkedCase } from './cases/end-parked.js';
import { readLaneCase } from './cases/lane-case.js';
import { withClocks } from './clocks/with-clocks.js';
import { BudgetRefused, Ended, Fenced, isTransient, Poison, StaleTurn } from './errors.js';
import { type ClaimedLane, claimLane, type LaneView, readLane } from './journal/claim.js';
import { countFailure } from './journal/count-failure.js';
import { LaneWriter } from './journal/lane-writer.js';
import { endOf, indexSteps, type Lane } from './lane/lane.js';
import { lanePlanOf } from './lane/lane-plan.js';
import { walk } from './lane/walk.js';
import { enterLive } from './live.js';
import { closeRun } from './rows/close-run.js';
import { notifyStreams } from './rows/notify-streams.js';
import { SecretMask } from './secrets/secret-mask.js';
import { withSlots } from './slots/with-slots.js';

const POLL_EVERY_MS = 1_000;

const MOST_FAILURES = 5;

/** One attempt at a turn. */
export interface Attempt {
  /** Counts from 1. */
  readonly attempt: number;
  readonly cancelled: AbortSignal;
  /** True once this worker shuts down: the lane stops at its next boundary, and another worker continues it. */
  readonly isLeaving: () => boolean;
  /** Called with the lane's fence once this attempt has claimed it. */
  readonly onClaimed?: (fence: bigint) => void;
}

/**
 * Runs a lane's steps to its next stop. Safe to repeat: the journal has every call that was made. So another attempt,
 * on any worker, continues where this one stopped and pays for no recorded call twice. Throws when the attempt must be
 * repeated.
 */
export async function advanceLane(deps: Deps, turn: Turn, options: Attempt): Promise<Stop> {
  const { attempt, cancelled, isLeaving } = options;
  const live = enterLive(turn.runId);
  const signal = AbortSignal.any([cancelled, live.controller.signal]);
  const mask = new SecretMask();
  try {
    const claimed = await claimLane(deps.db, turn, attempt);
    options.onClaimed?.(claimed.fence);
    failpoint('lane-claimed');
    const view = await readLane(deps.db, turn, claimed.state);
    if (!view || view.run.ended) return { kind: 'failed' };
    if (claimed.state === 'failed') return await endIdleEvalRun(deps, view, { kind: 'failed' });
    const lane = await openLaneState(deps, turn, { claimed, view, signal, mask, isLeaving });
    if (claimed.state === 'done') return await endIdleEvalRun(deps, view, { kind: endOf(lane) });
    const watch = watchLane(deps, turn, claimed.fence, live.controller);
    try {
      const stop = await withSlots({ lane, fence: claimed.fence }, () =>
        withClocks(lane, () => walk(lane).catch((error: unknown) => writeFirst(lane, error))),
      );
      failpoint('step-done-before-report');
      if (stop.kind === 'done' || stop.kind === 'failed') await removeFolder(deps, turn);
      return await endIdleEvalRun(deps, view, stop);
    } finally {
      // Not awaited: a query of it may wait for a connection, and it writes nothing.
      void watch.close();
      await lane.servers.close();
    }
  } catch (error) {
    return await afterError(deps, turn, attempt, {
      error: mask.error(signal.aborted && !cancelled.aborted ? signal.reason : error),
      cancelled,
    });
  } finally {
    live.leave();
  }
}

/**
 * Ends the run of an eval case when no lane can continue and one is parked: no person decides what its case leaves
 * open.
 */
async function endIdleEvalRun(deps: Deps, { run }: LaneView, stop: Stop): Promise<Stop> {
  return (await endParkedCase(deps, run)) ? { kind: 'failed' } : stop;
}

interface Opening {
  readonly claimed: ClaimedLane;
  readonly view: LaneView;
  readonly signal: AbortSignal;
  readonly mask: SecretMask;
  readonly isLeaving: Attempt['isLeaving'];
}

async function openLaneState(deps: Deps, turn: Turn, opening: Opening): Promise<Lane> {
  const { claimed, view, signal, mask, isLeaving } = opening;
  const plan = await loadPlan(deps, view.run.workspaceId, view.run.planId);
  const { runId, lane } = turn;
  const own = { ...deps, log: mask.log(deps.log) };
  return {
    deps: own,
    mask,
    servers: createLaneServers(own, signal),
    name: lane,
    run: view.run,
    plan,
    lanePlan: lanePlanOf(plan, lane),
    writer: new LaneWriter(
      deps.db,
      {
        runId,
        lane,
        item: lanePlanOf(plan, lane).item,
        signal,
        now: () => deps.clock.now(),
        hide: (value) => mask.value(value),
        onWritten: (ended) => notifyStreams(deps, runId, ended),
      },
      claimed,
    ),
    item: claimed.item,
    laneCase: await readLaneCase(deps.db, view.run),
    steps: indexSteps(view.steps),
    parks: new Map(view.parks.map((park) => [park.id, park])),
    children: view.lanes,
    signal,
    leaving: isLeaving,
  };
}

/**
 * Flushes the batch before the advance is retried. If the flush fails too, the answers in the batch are lost: the retry
 * books their model calls at the reservations and makes them again, repeats tool calls that do not act, and reports
 * acting ones as interrupted.
 */
async function writeFirst(lane: Lane, error: unknown): Promise<never> {
  if (isTransient(error)) await lane.writer.flush().catch(() => undefined);
  throw error;
}

/** Deletes the folder of an ended lane. If that fails, it costs disk space, never the run. */
async function removeFolder(deps: Deps, turn: Turn): Promise<void> {
  if (turn.lane !== 'main') return;
  await dropLane(deps, turn.runId).catch((error: unknown) =>
    deps.log.warn({ err: error, run: turn.runId }, 'failed to remove a scratch folder'),
  );
}

interface Failed {
  readonly error: unknown;
  readonly cancelled: AbortSignal;
}

async function afterError(deps: Deps, turn: Turn, attempt: number, { error, cancelled }: Failed): Promise<Stop> {
  if (error instanceof Ended) return { kind: 'failed' };
  if (cancelled.aborted || error instanceof Fenced || error instanceof StaleTurn) throw error;
  if (error instanceof BudgetRefused) return await endRefused(deps, turn, error);
  deps.log.error({ err: error, ...turn, attempt }, 'an advance failed');
  if (isTransient(error)) throw error;
  const isFinal = error instanceof Poison || error instanceof Refusal;
  const failures = isFinal ? 0 : await countFailure(deps.db, turn, attempt);
  if (!isFinal && failures < MOST_FAILURES) throw error;
  const why = isFinal ? error.message : `the engine failed ${failures} times here: ${errorMessage(error)}`;
  await closeRun(deps.db, turn.runId, why);
  notifyStreams(deps, turn.runId);
  return { kind: 'failed' };
}

/** Ends the run that owns the rejected budget, and all runs under it, this one included. */
async function endRefused(deps: Deps, turn: Turn, { runId, message }: BudgetRefused): Promise<Stop> {
  await closeRun(deps.db, runId, message);
  notifyStreams(deps, runId);
  if (runId !== turn.runId) notifyStreams(deps, turn.runId);
  return { kind: 'failed' };
}

/**
 * Checks the lane each second, as a fallback for a stop whose NOTIFY was lost and for a takeover while this attempt was
 * paused: a higher fence or an ended run aborts the lane.
 */
function watchLane(deps: Deps, turn: Turn, fence: bigint, controller: AbortController): Loops {
  const checkLane = async (): Promise<void> => {
    const [row] = await deps.db.query<{ fence: bigint; ended: boolean }>({
      name: 'watch-lane',
      text: `SELECT l.fence, r.finished_at IS NOT NULL AS ended FROM lane l JOIN run r ON r.id = l.run_id
        WHERE l.run_id = $1 AND l.lane = $2`,
      values: [turn.runId, turn.lane],
    });
    if (!row || row.ended) controller.abort(new Ended());
    else if (row.fence !== fence) controller.abort(new Fenced());
  };
  // Ignore an unavailable database: the next write reports it.
  const work = () => checkLane().catch(() => undefined);
  return startLoops(deps.log, [{ name: 'lane watch', everyMs: POLL_EVERY_MS, work }]);
}
