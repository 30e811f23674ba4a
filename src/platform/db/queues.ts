import type { Log } from '../../shared/log.js';
import { type Loops, startLoops } from '../../shared/repeat.js';
import type { Db } from './contract.js';

/** The kinds of rows that workers process. A NOTIFY on `QUEUE_CHANNEL` names one of them. */
export type QueueName = 'outbox' | 'notice' | 'notification' | 'burst' | 'event' | 'push' | 'mirror';

export const QUEUE_CHANNEL = 'queue';

/** A table whose rows workers process when they are due. Any number of processes may do so at once. */
export interface Queue {
  /** SQL of one value: when the next row is due; null when there is none. A leased row is due when its lease ends. */
  readonly nextDue: string;
  /**
   * Claims due rows, and works them off or starts to. Returns how many; 0 if it could claim none. The signal is the same
   * in all rounds: it is aborted when the process ends, and then a round stops between two rows and starts nothing more.
   */
  work(signal: AbortSignal): Promise<number>;
  /** The pause between two rounds, if it is longer than usual. */
  readonly gatherMs?: number;
  /** The pause after a failed round, if it is longer than usual. */
  pauseMs?(): number;
  /** Resolves when the work that the rounds started has ended. No round is active then, and none starts. */
  end?(): Promise<void>;
  /** Deletes old rows. */
  readonly sweep?: { readonly everyMs: number; run(): Promise<void> };
}

/** How often the due times are read. Finds rows whose notification was lost, for instance with a process that died. */
const POLL_MS = 2_000;
/** The pause between two rounds of a queue, so that one round processes all that arrives within a moment. */
const GATHER_MS = 200;
/** The pause after a round that failed, or that could claim none of the due rows. Doubles up to `POLL_MS`. */
const RETRY_MS = 500;

/** Processes queues beside a worker: when a NOTIFY names them, and when their next row is due. */
export function startQueues(
  deps: { readonly db: Pick<Db, 'query' | 'listen'>; readonly log: Log },
  queues: Readonly<Partial<Record<QueueName, Queue>>>,
): Loops {
  const entries = Object.entries(queues);
  const lines = new Map(entries.map(([name, queue]) => [name, new Line(deps.log, { name, queue, readDueTimes })]));
  const dueTimes = {
    name: `due-${entries.map(([name]) => name).join('-')}`,
    text: `SELECT name, (extract(epoch FROM due - clock_timestamp()) * 1000)::float8 AS "inMs"
      FROM (VALUES ${entries.map(([name, { nextDue }]) => `('${name}', (${nextDue}))`).join(', ')}) AS q (name, due)`,
  };

  async function readDueTimes(): Promise<void> {
    const due = await deps.db.query<{ name: string; inMs: number | null }>(dueTimes);
    for (const { name, inMs } of due) lines.get(name)?.due(inMs);
  }

  const unlisten = deps.db.listen(QUEUE_CHANNEL, (name) => lines.get(name)?.wake());
  const poll = { name: 'queues', everyMs: POLL_MS, atLeastMs: POLL_MS, beginsNow: true, work: readDueTimes };
  const sweeps = entries.flatMap(([name, { sweep }]) =>
    sweep ? [{ name: `old rows of ${name}`, everyMs: sweep.everyMs, work: () => sweep.run() }] : [],
  );
  const loops = startLoops(deps.log, [poll, ...sweeps]);
  return {
    async close() {
      unlisten();
      // All at once: a queue that is slow to end must not keep another one from its own end.
      await Promise.all([...[...lines.values()].map((line) => line.close()), loops.close()]);
    },
  };
}

interface LineOf {
  readonly name: string;
  readonly queue: Queue;
  /** Reads the due times again. */
  readonly readDueTimes: () => Promise<void>;
}

/** The rounds of one queue, one after the other. */
class Line {
  #round: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer starts a round, by `performance.now()`. */
  #startsAt = Number.POSITIVE_INFINITY;
  #endedAt = 0;
  /** No round starts earlier. */
  #pausedUntil = 0;
  /** Rounds in a row that could claim no row although one was due. */
  #emptyRounds = 0;
  #isWoken = false;
  #failing = false;
  readonly #closed = new AbortController();

  constructor(
    private readonly log: Log,
    private readonly at: LineOf,
  ) {}

  get #gatherMs(): number {
    return this.at.queue.gatherMs ?? GATHER_MS;
  }

  /** A row may have been added. */
  wake(): void {
    this.#isWoken = true;
    this.#schedule(this.#endedAt + this.#gatherMs);
  }

  /** The next row is due after this time; null when there is none. */
  due(inMs: number | null): void {
    if (inMs === null || inMs > 0) this.#emptyRounds = 0;
    if (inMs === null || inMs > POLL_MS) return;
    const pause = this.#emptyRounds === 0 ? this.#gatherMs : Math.min(RETRY_MS * 2 ** (this.#emptyRounds - 1), POLL_MS);
    this.#schedule(Math.max(performance.now() + inMs + 1, this.#endedAt + pause));
  }

  async close(): Promise<void> {
    this.#closed.abort();
    clearTimeout(this.#timer);
    await this.#round;
    await this.at.queue.end?.();
  }

  #schedule(startsAt: number): void {
    const atMs = Math.max(startsAt, this.#pausedUntil);
    if (this.#closed.signal.aborted || this.#round !== null || atMs >= this.#startsAt) return;
    clearTimeout(this.#timer);
    this.#startsAt = atMs;
    this.#timer = setTimeout(
      () => {
        this.#startsAt = Number.POSITIVE_INFINITY;
        this.#round = this.#work();
      },
      Math.max(0, atMs - performance.now()),
    );
  }

  async #work(): Promise<void> {
    this.#isWoken = false;
    const count = await this.#attempt();
    this.#emptyRounds = count > 0 ? 0 : this.#emptyRounds + 1;
    this.#endedAt = performance.now();
    this.#round = null;
    if (this.#isWoken) this.wake();
    // The poll repeats and logs it.
    else if (!this.#closed.signal.aborted) this.at.readDueTimes().catch(() => undefined);
  }

  /**
   * Returns 0 after a failure. Logs only the first failure in a row, since an unreachable database is logged elsewhere
   * too.
   */
  async #attempt(): Promise<number> {
    const { name, queue } = this.at;
    try {
      const count = await queue.work(this.#closed.signal);
      if (this.#failing) this.log.info({ queue: name }, 'queue recovered');
      this.#failing = false;
      return count;
    } catch (error) {
      if (!this.#failing) this.log.warn({ err: error, queue: name }, 'queue failed, will retry');
      this.#failing = true;
      this.#pausedUntil = performance.now() + (queue.pauseMs?.() ?? 0);
      return 0;
    }
  }
}
