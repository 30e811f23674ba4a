import { setTimeout as timer } from 'node:timers/promises';

/** The longest time that a timer of Node can hold, in ms: a longer one would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** Resolves after `ms`. Rejects with the signal's reason once it is aborted. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await timer(ms, undefined, signal && { signal }).catch((error: unknown) => {
    throw signal?.aborted ? signal.reason : error;
  });
}

/** The work's outcome, or that of `otherwise` after `ms`. A late outcome of the work is ignored, also a failure. */
export async function within<T>(work: Promise<T>, ms: number, otherwise: () => T | Promise<T>): Promise<T> {
  let late: NodeJS.Timeout | undefined;
  work.catch(() => undefined);
  try {
    return await new Promise<T>((resolve, reject) => {
      work.then(resolve, reject);
      late = setTimeout(() => void Promise.resolve().then(otherwise).then(resolve, reject), ms);
    });
  } finally {
    clearTimeout(late);
  }
}

/** Whether the work settles within the time. Rethrows an error that it throws in that time. */
export function settlesWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  return within(
    work.then(() => true),
    ms,
    () => false,
  );
}

/**
 * The work's outcome. Rejects with the signal's reason once it is aborted: the work itself continues, for instance a
 * DNS lookup, which cannot be cancelled, and its outcome is ignored.
 */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise<T>((resolve, reject) => {
    const leave = () => reject(signal.reason);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}

/** A signal that aborts when a time is over or the caller stops. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** True if the time is over and the caller has not stopped. */
  isOver(): boolean;
  /** Stops the timer. Call it when the work has ended. */
  end(): void;
}

/** Times beyond 24 days have no timer. `AbortSignal.timeout` cannot be ended, so it would outlive the work. */
export function startDeadline(ms: number, stop?: AbortSignal): Deadline {
  const over = new AbortController();
  const late = ms > 0 && ms <= LONGEST_MS ? setTimeout(() => over.abort(), ms) : undefined;
  if (ms <= 0) over.abort();
  return {
    signal: stop === undefined ? over.signal : AbortSignal.any([over.signal, stop]),
    isOver: () => over.signal.aborted && stop?.aborted !== true,
    end: () => clearTimeout(late),
  };
}
