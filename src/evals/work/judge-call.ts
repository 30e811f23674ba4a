import { type Deaths, deathsTold, storedWaited, type Waited, waitedTold } from '../../engine/index.js';
import { isRecord, type Json } from '../../shared/json.js';

/** A call of the judge that has no answer yet, and what became of it so far. */
export interface OpenCall {
  readonly number: number;
  readonly deaths: Deaths;
  readonly waited: Waited;
  /** It is not made before that (epoch ms). */
  readonly notBefore?: number | undefined;
}

/** What the row of an attempt says of such a call. While the call is out, its start and its worker stand there too. */
export function storedCall({ number, deaths, waited, notBefore }: OpenCall): object {
  return { number, ...deathsTold(deaths), ...waitedTold(waited), ...(notBefore === undefined ? {} : { notBefore }) };
}

/** The row's text of call `number`; empty for another one, whose deaths and waits say nothing of this one. */
export function callIn(stored: Json, number: number): Readonly<Record<string, Json>> {
  return isRecord(stored) && stored.number === number ? stored : {};
}

export function waitsIn(stored: Readonly<Record<string, Json>>): Pick<OpenCall, 'waited' | 'notBefore'> {
  const { notBefore } = stored;
  return { waited: storedWaited(stored), notBefore: typeof notBefore === 'number' ? notBefore : undefined };
}

/** The judge cannot be asked now: the grading goes on after that time, and no worker is held meanwhile. */
export class PutOff extends Error {
  override readonly name = 'PutOff';

  constructor(
    readonly waitMs: number,
    reason: string,
  ) {
    super(`the judge is asked again in ${Math.ceil(waitMs / 1_000)} s: ${reason}`);
  }
}
