import type { ResolvedModel } from '../../models/contract.js';
import { isRecord, type Json } from '../../shared/json.js';
import { type FailedModel, IN_PLACE_MS, isFinal } from './try-models.js';

/** Maximum number of waits that the provider itself asked for, even after the total wait is used up. */
export const MOST_NAMED_WAITS = 20;
/** Maximum number of waits after cut answers, since each of them is billed. */
export const MOST_CUT_WAITS = 5;
const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 60_000;

/** How long a call has waited so far. */
export interface Waited {
  readonly waits: number;
  /** Time of the first wait (epoch ms); null before it. */
  readonly since: number | null;
}

export const NOT_YET: Waited = { waits: 0, since: null };

/** The waits that a call's row stores. */
export function storedWaited(result: Json | undefined): Waited {
  if (!isRecord(result) || typeof result.waits !== 'number') return NOT_YET;
  return { waits: result.waits, since: typeof result.waitsSince === 'number' ? result.waitsSince : null };
}

export function waitFields({ waits, since }: Waited): { readonly waits?: number; readonly waitsSince?: number | null } {
  return waits === 0 ? {} : { waits, waitsSince: since };
}

/** The result of a call that no model answered; `error` is the sentence for people. */
export type CallEnd = { readonly error: string } & (
  | { readonly kind: 'later'; readonly waitMs: number; readonly waited: Waited }
  | { readonly kind: 'overflow'; readonly model: ResolvedModel }
  | { readonly kind: 'fail' }
);

interface Moment {
  readonly waited: Waited;
  readonly nowMs: number;
  /** Maximum total wait of one call for its providers. */
  readonly boundMs: number;
}

/** Transient failures wait on a durable timer until the bound has passed; permanent ones fail at once. */
export function judgeFailures(failed: readonly FailedModel[], { waited, nowMs, boundMs }: Moment): CallEnd {
  const last = failed.at(-1);
  if (!last) return { kind: 'fail', error: 'the model gave no answer' };
  const error = failed.map((one) => one.error.message).join('; then ');
  if (last.error.kind === 'overflow') return { kind: 'overflow', error: last.error.message, model: last.model };
  // For an invalid request only its own message matters.
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
  // The last wait ends with the bound, so that the provider gets one more call then.
  if (own !== null && leftMs > 0) return later(Math.min(own, leftMs));
  return { kind: 'fail', error: waits === 0 ? error : gaveUpError(waited, nowMs, error) };
}

function gaveUpError({ waits, since }: Waited, nowMs: number, error: string): string {
  const seconds = Math.round((nowMs - (since ?? nowMs)) / 1_000);
  const time = seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
  return `given up after waiting ${waits} times, ${time} in all, for a model that answers: ${error}`;
}

/** The shortest wait that a provider asked for and that is too long to wait in place; null when none did. */
function namedWait(failed: readonly FailedModel[]): number | null {
  const waits = failed.flatMap(({ error: { retryAfterMs, circuit } }) =>
    retryAfterMs !== null && !circuit && retryAfterMs > IN_PLACE_MS ? [retryAfterMs] : [],
  );
  return waits.length === 0 ? null : Math.min(...waits);
}

/** Time until another call makes sense: the probe of an open circuit, or a growing backoff; null for no wait. */
function ownWait(failed: readonly FailedModel[], waits: number): number | null {
  const transient = failed.filter(({ error: { kind, cut } }) => {
    const isTransient = kind === 'overloaded' || kind === 'transient';
    return isTransient && (cut === null || waits < MOST_CUT_WAITS);
  });
  if (transient.length === 0) return null;
  const grown = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(waits, 10));
  return Math.min(
    ...transient.map(({ error: { circuit, retryAfterMs } }) => (circuit ? (retryAfterMs ?? grown) : grown)),
  );
}
