import type { Sql } from '../../db/contract.js';
import { lastOf } from '../../db/index.js';
import { isRecord, type Json } from '../../shared/json.js';
import { Poison } from '../errors.js';
import type { CallRow } from '../journal/claim.js';
import type { Lane } from '../lane/lane.js';
import { Turns } from './turns.js';

/**
 * How often a worker died during one call. A worker is ended for many reasons, and then every call at work in it was
 * cut: so these deaths prove nothing about one call. From the third on the call is made on its own: of the calls under
 * suspicion a process makes one at a time, the least suspected first. Only deaths during such a turn count against it,
 * and one more of them than it takes another call to come under suspicion, so that no call is blamed for another one.
 */
export type Deaths = {
  readonly inCompany: number;
  readonly alone: number;
};

export const NO_DEATHS: Deaths = { inCompany: 0, alone: 0 };
export const MOST_IN_COMPANY = 3;
export const MOST_ALONE = MOST_IN_COMPANY + 1;

/** What a call's row says at its start. */
export type StartMark = {
  readonly worker: string;
  readonly deaths?: Deaths;
  readonly alone?: true;
};

export function startMark(workerId: string, deaths: Deaths): StartMark {
  const told = deathsTold(deaths);
  return { worker: workerId, ...told, ...(isSuspect(deaths) ? { alone: true } : {}) };
}

export function deathsTold(deaths: Deaths): { readonly deaths?: Deaths } {
  return deaths.inCompany + deaths.alone === 0 ? {} : { deaths };
}

export function isSuspect({ inCompany }: Deaths): boolean {
  return inCompany >= MOST_IN_COMPANY;
}

/** One for the process: what takes a turn may end it. */
const turns = new Turns();

interface Suspect<T> {
  readonly deaths: Deaths;
  /** Names the call among those that wait in this process. */
  readonly key: string;
  /** When the call asks for its turn again should it have to wait. */
  readonly againInMs: number;
  readonly wait: () => Promise<T>;
}

/** Does the work. For a call under suspicion only when it is its turn: else the call waits without holding a worker. */
export async function whenSafe<T>({ deaths, key, againInMs, wait }: Suspect<T>, work: () => Promise<T>): Promise<T> {
  if (!isSuspect(deaths)) return work();
  const end = turns.take(key, { rank: deaths.alone, againInMs });
  if (end === null) return wait();
  try {
    return await work();
  } finally {
    end();
  }
}

/** The deaths during a call of a step that the journal holds. Throws Poison when the call is not to be made again. */
export async function readDeaths({ deps }: Lane, row: CallRow | undefined, call: string): Promise<Deaths> {
  if (row === undefined) return NO_DEATHS;
  const deaths = await countDeaths(deps, row);
  assertHarmless(deaths, { call, cure: 'rerun from this step' });
  return deaths;
}

/**
 * The deaths during a call by its row. A worker that still lives, that was told to leave, or that ended together with
 * others did not die of this call.
 */
export async function countDeaths(
  { db, workerId }: { readonly db: Sql; readonly workerId: string },
  row: { readonly state: string; readonly result: Json },
): Promise<Deaths> {
  const result = isRecord(row.result) ? row.result : {};
  const before = storedDeaths(result.deaths);
  if (row.state !== 'started') return before;
  const { worker } = result;
  const died = typeof worker !== 'string' || (worker !== workerId && (await lastOf(db, worker)) === 'died');
  return died ? oneMore(before, result.alone === true) : before;
}

/** Throws Poison when a call ended its worker so often that it is not to be made again. */
export function assertHarmless(deaths: Deaths, { call, cure }: { readonly call: string; readonly cure: string }): void {
  if (deaths.alone < MOST_ALONE) return;
  const count = deaths.inCompany + deaths.alone;
  throw new Poison(
    `the worker ended ${count} times during ${call}, so the call is not made again: mend its cause, then ${cure}`,
  );
}

function oneMore({ inCompany, alone }: Deaths, wasAlone: boolean): Deaths {
  return wasAlone ? { inCompany, alone: alone + 1 } : { inCompany: inCompany + 1, alone };
}

function storedDeaths(stored: Json | undefined): Deaths {
  if (!isRecord(stored)) return NO_DEATHS;
  return { inCompany: Number(stored.inCompany ?? 0), alone: Number(stored.alone ?? 0) };
}
