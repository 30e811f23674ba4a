import type { ResolvedModel } from '../../models/contract.js';
import { isRecord, type Json } from '../../shared/json.js';
import { type FailedModel, IN_PLACE_MS, isFinal } from './try-models.js';

/** A time that the provider itself names is waited for this often, even past the bound. */
export const MOST_NAMED_WAITS = 20;
/** An answer that breaks off is paid for each time, so a call that was cut waits only this often. */
export const MOST_CUT_WAITS = 5;
const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 60_000;

/** How long a call has been put off so far. */
export interface Waited {
  readonly waits: number;
  /** When it was first put off (epoch ms); null before that. */
  readonly since: number | null;
}

export const NOT_YET: Waited = { waits: 0, since: null };

/** What a call's row says of its waits. */
export function storedWaited(result: Json | undefined): Waited {
  if (!isRecord(result) || typeof result.waits !== 'number') return NOT_YET;
  return { waits: result.waits, since: typeof result.waitsSince === 'number' ? result.waitsSince : null };
}

export function waitedTold({ waits, since }: Waited): { readonly waits?: number; readonly waitsSince?: number | null } {
  return waits === 0 ? {} : { waits, waitsSince: since };
}

/** What becomes of a call that no model answered; `error` is the sentence that people read. */
export type CallEnd = { readonly error: string } & (
  | { readonly kind: 'later'; readonly waitMs: number; readonly waited: Waited }
  | { readonly kind: 'overflow'; readonly model: ResolvedModel }
  | { readonly kind: 'fail' }
);

interface Moment {
  readonly waited: Waited;
  readonly nowMs: number;
  /** How long one call waits for its providers in all. */
  readonly boundMs: number;
}

/** Transient failures are waited out by a durable timer until the bound has passed; what waiting cannot cure fails at once. */
export function judgeFailures(failed: readonly FailedModel[], { waited, nowMs, boundMs }: Moment): CallEnd {
  const last = failed.at(-1);
  if (!last) return { kind: 'fail', error: 'the model gave no answer' };
  const error = failed.map((one) => one.error.message).join('; then ');
  if (last.error.kind === 'overflow') return { kind: 'overflow', error: last.error.message, model: last.model };
  // Of a request that is wrong only its own words matter.
  if (isFinal(last.error)) return { kind: 'fail', error: last.error.message };
  const { waits, since } = waited;
  const named = namedWait(failed);
  const leftMs = (since ?? nowMs) + boundMs - nowMs;
  const later = (waitMs: number): CallEnd => ({
    kind: 'later',
    error,
    waitMs,
    waited: { waits: waits + 1, since: since ?? nowMs },
  });
  if (named !== null && (leftMs > 0 || waits < MOST_NAMED_WAITS)) return later(named);
  const own = ownWait(failed, waits);
  // The last wait ends with the bound, so that the provider is asked once more then.
  if (own !== null && leftMs > 0) return later(Math.min(own, leftMs));
  return { kind: 'fail', error: waits === 0 ? error : gaveUp(waited, nowMs, error) };
}

function gaveUp({ waits, since }: Waited, nowMs: number, error: string): string {
  const seconds = Math.round((nowMs - (since ?? nowMs)) / 1_000);
  const time = seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
  return `given up after waiting ${waits} times, ${time} in all, for a model that answers: ${error}`;
}

/** The shortest time that a provider named and that is too long to wait in place; null when none did. */
function namedWait(failed: readonly FailedModel[]): number | null {
  const waits = failed.flatMap(({ error: { retryAfterMs, circuit } }) =>
    retryAfterMs !== null && !circuit && retryAfterMs > IN_PLACE_MS ? [retryAfterMs] : [],
  );
  return waits.length === 0 ? null : Math.min(...waits);
}

/** Until the first of them is worth another call: the probe of an open circuit, or a growing wait; null for no wait. */
function ownWait(failed: readonly FailedModel[], waits: number): number | null {
  const passing = failed.filter(({ error: { kind, cut } }) => {
    const isPassing = kind === 'overloaded' || kind === 'transient';
    return isPassing && (cut === null || waits < MOST_CUT_WAITS);
  });
  if (passing.length === 0) return null;
  const grown = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(waits, 10));
  return Math.min(
    ...passing.map(({ error: { circuit, retryAfterMs } }) => (circuit ? (retryAfterMs ?? grown) : grown)),
  );
}
