import type { Deps } from '../deps.js';
import { settlesWithin, sleep, within } from '../shared/deadline.js';
import { failpoint } from '../shared/failpoint.js';
import { FIRST_ADVANCE_MS, type Stop, type Turn } from '../workflows/contract.js';
import { type Attempt, advanceLane } from './advance.js';
import { CarriedElsewhere } from './errors.js';
import { isCarried, releaseLane, takeOverLane } from './journal/carry.js';

/** How long the outcome of an early advance is kept for its workflow, in ms: longer than a workflow task takes. */
const KEEP_MS = 30_000;
/** The pause before a failed release of a lane is repeated. */
const RELEASE_AGAIN_MS = 1_000;

interface Options {
  /** True once this worker shuts down. */
  readonly isLeaving: Attempt['isLeaving'];
  /** Takes room for one advance outside Temporal's activities; returns its release, or null when there is none. */
  readonly tryTakeSlot: () => (() => void) | null;
}

interface FirstAdvance {
  readonly runId: string;
  readonly work: Promise<Stop>;
  /** Settles when nothing is left to do for it here. */
  ended: Promise<void>;
  readonly cancel: AbortController;
  readonly releaseSlot: () => void;
  /** True once the workflow has asked for it. */
  isAsked: boolean;
  /** True once it outlasts its local activity. */
  isCarried: boolean;
  /** The fence of its claim; null before that, and when the lane belongs to another attempt. */
  fence: bigint | null;
}

/**
 * The first advances of runs that are active in this process and belong to no ordinary activity: the run's workflow
 * waits for its local activity, has not asked for it yet, or was informed that this process carries it on.
 */
export class FirstAdvances {
  readonly #active = new Map<string, FirstAdvance>();
  #isClosed = false;

  constructor(
    private readonly deps: Deps,
    private readonly options: Options,
  ) {}

  /** Begins the run's first advance before its workflow asks for it. The workflow must exist in Temporal. */
  beginEarly(runId: string): void {
    if (!this.#active.has(runId)) this.#begin({ runId, lane: 'main', turn: 1 });
  }

  /**
   * The outcome of the first advance. `again` when it takes longer than `FIRST_ADVANCE_MS`, has failed, or cannot begin
   * here: the next turn is an ordinary activity, which retries.
   */
  async begin(turn: Turn): Promise<Stop> {
    const advance = this.#active.get(turn.runId) ?? this.#begin(turn);
    if (advance === null) return { kind: 'again' };
    advance.isAsked = true;
    try {
      return await within(advance.work, FIRST_ADVANCE_MS, () => this.#carry(advance));
    } catch {
      // It is logged where it failed.
      return { kind: 'again' };
    } finally {
      if (!advance.isCarried) this.#active.delete(turn.runId);
    }
  }

  /** Takes over the run's first advance if this process carries it on, or else advances the lane. */
  async advance(turn: Turn, attempt: Omit<Attempt, 'isLeaving'>): Promise<Stop> {
    const carried = await this.#takeOver(turn, attempt.attempt);
    if (carried) return await follow(carried, attempt.cancelled);
    const { carriedBy } = turn;
    const mayBeCarried = carriedBy !== undefined && carriedBy !== this.deps.workerId;
    if (mayBeCarried && (await isCarried(this.deps.db, turn, carriedBy))) throw new CarriedElsewhere(carriedBy);
    return await advanceLane(this.deps, turn, { ...attempt, isLeaving: this.options.isLeaving });
  }

  /** Waits for the advances that no activity has taken over, and cuts those that are still active after `graceMs`. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    const active = [...this.#active.values()];
    const ended = Promise.all(active.map((advance) => advance.ended));
    if (await settlesWithin(ended, graceMs)) return;
    for (const { cancel } of active) cancel.abort(new Error('the worker shuts down'));
    await ended;
  }

  #begin(turn: Turn): FirstAdvance | null {
    const { isLeaving, tryTakeSlot } = this.options;
    const releaseSlot = this.#isClosed || isLeaving() ? null : tryTakeSlot();
    if (releaseSlot === null) return null;
    failpoint('first-begun');
    const cancel = new AbortController();
    const onClaimed = (fence: bigint) => {
      advance.fence = fence;
    };
    const work = advanceLane(this.deps, turn, { attempt: 1, cancelled: cancel.signal, isLeaving, onClaimed });
    const advance: FirstAdvance = {
      runId: turn.runId,
      work,
      ended: Promise.resolve(),
      cancel,
      releaseSlot,
      isAsked: false,
      isCarried: false,
      fence: null,
    };
    advance.ended = work.then(
      () => this.#end(advance, { isKept: !advance.isAsked }),
      () => this.#end(advance, { isKept: false }),
    );
    this.#active.set(turn.runId, advance);
    return advance;
  }

  #carry(advance: FirstAdvance): Stop {
    advance.isCarried = true;
    failpoint('first-carried');
    return { kind: 'again', carriedBy: this.deps.workerId };
  }

  async #takeOver(turn: Turn, attempt: number): Promise<FirstAdvance | null> {
    const advance = turn.lane === 'main' ? this.#active.get(turn.runId) : undefined;
    if (!advance || advance.fence === null) return null;
    if (!(await takeOverLane(this.deps.db, turn, { attempt, fence: advance.fence }))) return null;
    failpoint('first-taken-over');
    this.#active.delete(turn.runId);
    // The activity has a slot of its own.
    advance.releaseSlot();
    return advance;
  }

  /** An outcome that is kept waits for the workflow to ask; a failure would only delay the next turn. */
  async #end(advance: FirstAdvance, { isKept }: { isKept: boolean }): Promise<void> {
    const { runId } = advance;
    advance.releaseSlot();
    const isTaken = () => this.#active.get(runId) !== advance;
    const forget = () => isTaken() || this.#active.delete(runId);
    if (isKept) setTimeout(forget, KEEP_MS).unref();
    const isOurs = !isTaken();
    if (!isKept) forget();
    if (advance.isCarried && isOurs) await this.#release(advance);
  }

  /** Until the lane is released, other workers wait for this process: a failure is repeated until the shutdown. */
  async #release({ runId, fence }: FirstAdvance): Promise<void> {
    const { db, log } = this.deps;
    for (let isFirst = true; fence !== null; isFirst = false) {
      try {
        return await releaseLane(db, runId, fence);
      } catch (error) {
        if (isFirst) log.warn({ err: error, run: runId }, 'failed to release a lane to other workers, will retry');
      }
      if (this.#isClosed) return;
      await sleep(RELEASE_AGAIN_MS);
    }
  }
}

/** The outcome of work that a cancelled activity cancels. */
async function follow({ work, cancel }: FirstAdvance, cancelled: AbortSignal): Promise<Stop> {
  const stop = () => cancel.abort(cancelled.reason);
  if (cancelled.aborted) stop();
  cancelled.addEventListener('abort', stop, { once: true });
  try {
    return await work;
  } finally {
    cancelled.removeEventListener('abort', stop);
  }
}
