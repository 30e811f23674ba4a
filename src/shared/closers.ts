import { settlesWithin } from './deadline.js';
import type { Log } from './log.js';

/** A part of the process to close before exit. */
export interface Part {
  readonly name: string;
  readonly close: () => Promise<unknown>;
  /** How long its close may take, in ms. */
  readonly withinMs: number;
  /** Kills what a timed-out close has left running, such as child processes. */
  readonly kill?: () => Promise<void>;
}

/** How long all closes may take together, in ms. */
export const CLOSE_ALL_MS = 30_000;
/** How long each part may take to close, in ms; all together have 30 s. The worker lets model calls end for 20 s. */
export const CLOSE_MS = { api: 5_000, worker: 26_000, loops: 5_000, servers: 25_000, other: 3_000 } as const;
/** The minimum time for each part, however long the parts before it took, in ms. */
const LEAST_MS = 500;
const KILL_MS = 2_000;

/** The parts of a process, in start order. */
export class Closers {
  readonly #parts: Part[] = [];

  add(part: Part): void {
    this.#parts.push(part);
  }

  /**
   * Closes all parts, the newest first, each within its own time and all within `totalMs`. Never throws; answers
   * whether every part closed without an error and in time.
   */
  async close(log: Log | null, totalMs: number = CLOSE_ALL_MS): Promise<boolean> {
    const until = performance.now() + totalMs;
    const parts = this.#parts.splice(0).reverse();
    let isWhole = true;
    for (const [index, part] of parts.entries()) {
      const left = until - performance.now() - LEAST_MS * (parts.length - 1 - index);
      const ms = Math.max(LEAST_MS, Math.min(part.withinMs, left));
      isWhole = (await closePart(part, ms, log)) && isWhole;
    }
    return isWhole;
  }
}

async function closePart({ name, close, kill }: Part, ms: number, log: Log | null): Promise<boolean> {
  try {
    if (await settlesWithin(close(), ms)) return true;
    log?.error({ part: name, waitedMs: Math.round(ms) }, 'a part did not close in time and is ended');
  } catch (err) {
    log?.error({ part: name, err }, 'failed to close a part');
  }
  const killed = kill?.().catch((err: unknown) => log?.error({ part: name, err }, 'failed to kill a part'));
  if (killed) await settlesWithin(killed, KILL_MS);
  return false;
}
