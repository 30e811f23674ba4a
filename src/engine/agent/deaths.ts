import type { Deps } from '../../deps.js';
import type { Sql } from '../../platform/db/contract.js';
import { lastOf } from '../../platform/db/index.js';
import { isRecord, type Json } from '../../shared/json.js';
import { Poison } from '../errors.js';
import type { CallRow } from '../journal/claim.js';
import type { Lane } from '../lane/lane.js';

/** How much later than announced a call may come back before it loses its place, in ms. */
const LATE_MS = 10_000;

/** Serializes calls that are suspected of ending their process: one at a time, the lowest rank first. */
export class Turns {
  readonly #waiting = new Map<string, Waiting>();
  #isBusy = false;

  constructor(private readonly now: () => number = () => performance.now()) {}

  /**
   * Gives the call its turn and returns the function that ends it; null while another call has the turn or precedes it.
   */
  acquire(key: string, { rank, againInMs }: Asking): (() => void) | null {
    const now = this.now();
    if (this.#isBusy || !this.#isFirst(key, rank, now)) {
      this.#waiting.set(key, { rank, until: now + againInMs + LATE_MS });
      return null;
    }
    this.#waiting.delete(key);
    this.#isBusy = true;
    return () => {
      this.#isBusy = false;
    };
  }

  #isFirst(key: string, rank: number, now: number): boolean {
    // A map keeps its keys in order of insertion.
    let isEarlier = true;
    for (const [other, waiting] of this.#waiting) {
      if (other === key) isEarlier = false;
      // That call continues in another process, or its run has ended.
      else if (waiting.until < now) this.#waiting.delete(other);
      else if (waiting.rank < rank || (waiting.rank === rank && isEarlier)) return false;
    }
    return true;
  }
}

/**
 * How often a worker died during one call. A worker may end for many reasons, and that cuts every active call, so a few
 * deaths prove nothing about one call. From the third on, the call is suspect: a process makes only one suspect call at
 * a time, the least suspect first. Only deaths during such a turn count against a call, and one more of them than make
 * a call suspect, so that no call is blamed for another one.
 */
export type Deaths = {
  readonly inCompany: number;
  readonly alone: number;
};

export const NO_DEATHS: Deaths = { inCompany: 0, alone: 0 };

export const MOST_IN_COMPANY = 3;

export const MOST_ALONE = MOST_IN_COMPANY + 1;

/** What a call's row stores at its start. */
export type StartMark = {
  readonly worker: string;
  /** How often the worker's main thread was blocked before; left out for never. */
  readonly blocks?: number;
  readonly deaths?: Deaths;
  readonly alone?: true;
};

export function startMark(
  { workerId, workerBlocks }: Pick<Deps, 'workerId' | 'workerBlocks'>,
  deaths: Deaths,
): StartMark {
  const blocks = workerBlocks();
  return {
    worker: workerId,
    ...(blocks === 0 ? {} : { blocks }),
    ...deathFields(deaths),
    ...(isSuspect(deaths) ? { alone: true } : {}),
  };
}

export function deathFields(deaths: Deaths): { readonly deaths?: Deaths } {
  return deaths.inCompany + deaths.alone === 0 ? {} : { deaths };
}

export function isSuspect({ inCompany }: Deaths): boolean {
  return inCompany >= MOST_IN_COMPANY;
}

/** One instance per process, since a suspect call may end the process. */
const turns = new Turns();

interface Suspect<T> {
  readonly deaths: Deaths;
  /** Identifies the call among those that wait in this process. */
  readonly key: string;
  /** When the call asks again if it has to wait. */
  readonly againInMs: number;
  readonly wait: () => Promise<T>;
}

/** Does the work. A suspect call waits for its turn, and holds no worker meanwhile. */
export async function whenSafe<T>({ deaths, key, againInMs, wait }: Suspect<T>, work: () => Promise<T>): Promise<T> {
  if (!isSuspect(deaths)) return work();
  const end = turns.acquire(key, { rank: deaths.alone, againInMs });
  if (end === null) return wait();
  try {
    return await work();
  } finally {
    end();
  }
}

/** The deaths during a call of a step that is in the journal. Throws Poison when the call must not be repeated. */
export async function readDeaths({ deps }: Lane, row: CallRow | undefined, call: string): Promise<Deaths> {
  if (row === undefined) return NO_DEATHS;
  const deaths = await countDeaths(deps, row);
  assertNotPoison(deaths, { call, cure: 'rerun from this step' });
  return deaths;
}

/**
 * The deaths during a call by its row. A worker whose main thread was blocked during the call counts as dead: it lost
 * its activities, and a retry may block the next worker. Does not count a worker that still lives, that shut down, or that ended together
 * with others.
 */
export async function countDeaths(
  { db, workerId }: { readonly db: Sql; readonly workerId: string },
  row: { readonly state: string; readonly result: Json },
): Promise<Deaths> {
  const result = isRecord(row.result) ? row.result : {};
  const before = storedDeaths(result.deaths);
  if (row.state !== 'started') return before;
  const { worker, blocks } = result;
  const end = typeof worker === 'string' ? await lastOf(db, worker, Number(blocks ?? 0)) : 'died';
  const counts = end === 'blocked' || (end === 'died' && worker !== workerId);
  return counts ? withDeath(before, result.alone === true) : before;
}

/** Throws Poison when a call ended its worker too often to be repeated. */
export function assertNotPoison(
  deaths: Deaths,
  { call, cure }: { readonly call: string; readonly cure: string },
): void {
  if (deaths.alone < MOST_ALONE) return;
  const count = deaths.inCompany + deaths.alone;
  throw new Poison(
    `the worker ended ${count} times during ${call}, so the call is not made again: mend its cause, then ${cure}`,
  );
}

function withDeath({ inCompany, alone }: Deaths, wasAlone: boolean): Deaths {
  return wasAlone ? { inCompany, alone: alone + 1 } : { inCompany: inCompany + 1, alone };
}

function storedDeaths(stored: Json | undefined): Deaths {
  if (!isRecord(stored)) return NO_DEATHS;
  return { inCompany: Number(stored.inCompany ?? 0), alone: Number(stored.alone ?? 0) };
}

interface Waiting {
  readonly rank: number;
  /** It keeps its place until then. */
  readonly until: number;
}

interface Asking {
  readonly rank: number;
  /** When it asks again if it is refused, in ms from now. */
  readonly againInMs: number;
}
