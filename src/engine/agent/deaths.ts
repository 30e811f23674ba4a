import type { Deps } from '../../deps.js';
import type { Sql } from '../../platform/db/contract.js';
import { lastOf } from '../../platform/db/index.js';
import { isRecord, type Json } from '../../shared/json.js';
import { Poison } from '../errors.js';
import type { JournalCall } from '../journal/claim.js';
import type { Lane } from '../lane/lane.js';

/** How much later than announced a waiting call may ask again before it loses its place, in ms. */
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
 * How often a worker died during one call. A worker dies for many reasons, and its death cuts every active call, so a
 * few deaths prove nothing about one of them. After `MOST_IN_COMPANY` deaths the call is suspect: a process makes only
 * one suspect call at a time, first the one with the fewest deaths `alone`. Only deaths during such a turn count
 * against the call, and `MOST_ALONE` of them fail it. So no call is blamed for a death that another one caused.
 */
export type Deaths = {
  readonly inCompany: number;
  readonly alone: number;
  /** The last starts that were cut while their worker lived. Left out for none. */
  readonly cuts?: readonly Cut[];
};

/** A start that was cut for a reason that is unknown so far: a block of its worker may be recorded later. */
type Cut = {
  readonly worker: string;
  readonly blocks: number;
  /** When the cut was found, by epoch ms: a block that began later did not cause it. */
  readonly at: number;
  readonly alone?: true;
};

/** A block is recorded seconds later at most, so older cuts are forgotten. */
const MOST_CUTS = 4;

export const NO_DEATHS: Deaths = { inCompany: 0, alone: 0 };

export const MOST_IN_COMPANY = 3;

export const MOST_ALONE = MOST_IN_COMPANY + 1;

/** What a call's row stores at its start. */
export type StartMark = {
  readonly worker: string;
  /** How often the worker's main thread was blocked before; left out for never. */
  readonly blocks?: number;
  readonly alone?: true;
} & DeathFields;

type DeathFields = {
  readonly deaths?: Pick<Deaths, 'inCompany' | 'alone'>;
  readonly cuts?: readonly Cut[];
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

export function deathFields({ inCompany, alone, cuts }: Deaths): DeathFields {
  return {
    ...(inCompany + alone === 0 ? {} : { deaths: { inCompany, alone } }),
    ...(cuts === undefined ? {} : { cuts }),
  };
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
export async function readDeaths({ deps }: Lane, row: JournalCall | undefined, call: string): Promise<Deaths> {
  if (row === undefined) return NO_DEATHS;
  const deaths = await countDeaths(deps, row);
  assertNotPoison(deaths, { call, cure: 'rerun from this step' });
  return deaths;
}

/**
 * The deaths during a call by its row. A worker whose main thread was blocked during the call counts as dead: it lost
 * its activities, and a retry may block the next worker. Does not count a worker that still lives, that shut down, or
 * that ended together with others.
 */
export async function countDeaths(
  deps: { readonly db: Sql } & Pick<Deps, 'workerId' | 'clock'>,
  row: { readonly state: string; readonly result: Json },
): Promise<Deaths> {
  const result = isRecord(row.result) ? row.result : {};
  const before = await settleCuts(deps.db, storedDeaths(result));
  if (row.state !== 'started') return before;
  const { worker } = result;
  if (typeof worker !== 'string') return withDeath(before, result);
  const blocks = Number(result.blocks ?? 0);
  const end = await lastOf(deps.db, worker, { blocks });
  if (end === 'blocked' || (end === 'died' && worker !== deps.workerId)) return withDeath(before, result);
  if (end !== 'alive') return before;
  const cut: Cut = { worker, blocks, at: deps.clock.now(), ...(result.alone === true ? { alone: true } : {}) };
  return { ...before, cuts: [...(before.cuts ?? []), cut].slice(-MOST_CUTS) };
}

/** Counts the cuts whose block has been recorded since, and keeps those whose worker still lives. */
async function settleCuts(db: Sql, { cuts = [], ...counted }: Deaths): Promise<Deaths> {
  let deaths: Deaths = counted;
  const open: Cut[] = [];
  for (const cut of cuts) {
    const end = await lastOf(db, cut.worker, { blocks: cut.blocks, until: cut.at });
    if (end === 'blocked') deaths = withDeath(deaths, cut);
    else if (end === 'alive') open.push(cut);
  }
  return open.length === 0 ? deaths : { ...deaths, cuts: open };
}

/** Throws Poison when a call ended or blocked its worker too often to be repeated. */
export function assertNotPoison(
  deaths: Deaths,
  { call, cure }: { readonly call: string; readonly cure: string },
): void {
  if (deaths.alone < MOST_ALONE) return;
  const count = deaths.inCompany + deaths.alone;
  throw new Poison(
    `the worker ended or was blocked ${count} times during ${call}, so the call is not made again: fix its cause, then ${cure}`,
  );
}

function withDeath(deaths: Deaths, { alone }: { readonly alone?: Json }): Deaths {
  return alone === true ? { ...deaths, alone: deaths.alone + 1 } : { ...deaths, inCompany: deaths.inCompany + 1 };
}

function storedDeaths({ deaths, cuts }: Readonly<Record<string, Json>>): Deaths {
  const counts = isRecord(deaths) ? deaths : {};
  const counted = { inCompany: Number(counts.inCompany ?? 0), alone: Number(counts.alone ?? 0) };
  return Array.isArray(cuts) ? { ...counted, cuts: cuts.flatMap(storedCut) } : counted;
}

function storedCut(stored: Json): Cut[] {
  if (!isRecord(stored) || typeof stored.worker !== 'string') return [];
  const { worker, blocks, at, alone } = stored;
  return [{ worker, blocks: Number(blocks), at: Number(at), ...(alone === true ? { alone } : {}) }];
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
