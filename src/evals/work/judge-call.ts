import { type Deaths, deathFields, storedWaited, type Waited, waitFields } from '../../engine/index.js';
import { isRecord, type Json } from '../../shared/json.js';

/** A call of the judge without an answer yet, and its failures so far. */
export interface OpenCall {
  readonly number: number;
  readonly deaths: Deaths;
  readonly waited: Waited;
  /** It is not made before this time (epoch ms). */
  readonly notBefore?: number | undefined;
}

/** What the row of an attempt stores of such a call. While the call is running, also its start and its worker. */
export function storedCall({ number, deaths, waited, notBefore }: OpenCall): object {
  return { number, ...deathFields(deaths), ...waitFields(waited), ...(notBefore === undefined ? {} : { notBefore }) };
}

/** The stored state of call `number`; empty for another call, whose deaths and waits do not apply. */
export function callIn(stored: Json, number: number): Readonly<Record<string, Json>> {
  return isRecord(stored) && stored.number === number ? stored : {};
}

export function waitsIn(stored: Readonly<Record<string, Json>>): Pick<OpenCall, 'waited' | 'notBefore'> {
  const { notBefore } = stored;
  return { waited: storedWaited(stored), notBefore: typeof notBefore === 'number' ? notBefore : undefined };
}

/** The judge cannot be called now. The grading continues after that time, and holds no worker meanwhile. */
export class JudgePostponed extends Error {
  override readonly name = 'JudgePostponed';

  constructor(
    readonly waitMs: number,
    reason: string,
  ) {
    super(`the judge is asked again in ${Math.ceil(waitMs / 1_000)} s: ${reason}`);
  }
}
