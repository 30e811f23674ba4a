import type { ResolvedModel } from '../../models/contract.js';
import { type FailedModel, IN_PLACE_MS, isFinal } from './try-models.js';

/** How often one call is put off: at a circuit's half minute that is ten minutes of an endpoint that is down. */
export const MOST_WAITS = 20;

/** What becomes of a call that no model answered; `error` is the sentence that people read. */
export type CallEnd = { readonly error: string } & (
  | { readonly kind: 'later'; readonly waitMs: number; readonly waits: number }
  | { readonly kind: 'overflow'; readonly model: ResolvedModel }
  | { readonly kind: 'fail' }
);

/** `waits`: how often the call was put off before. */
export function judgeFailures(failed: readonly FailedModel[], waits: number): CallEnd {
  const last = failed.at(-1);
  if (!last) return { kind: 'fail', error: 'the model gave no answer' };
  const error = failed.map((one) => one.error.message).join('; then ');
  if (last.error.kind === 'overflow') return { kind: 'overflow', error: last.error.message, model: last.model };
  // Of a request that is wrong only its own words matter.
  if (isFinal(last.error)) return { kind: 'fail', error: last.error.message };
  const waitMs = leastWait(failed);
  if (waitMs === null) return { kind: 'fail', error };
  if (waits < MOST_WAITS) return { kind: 'later', error, waitMs, waits: waits + 1 };
  return { kind: 'fail', error: `given up after waiting ${waits} times for a model that answers: ${error}` };
}

/** Until the first of them wants to be asked again; null when none named a time that was too long to wait in place. */
function leastWait(failed: readonly FailedModel[]): number | null {
  const waits = failed.flatMap(({ error: { retryAfterMs, circuit } }) =>
    retryAfterMs !== null && (circuit || retryAfterMs > IN_PLACE_MS) ? [retryAfterMs] : [],
  );
  return waits.length === 0 ? null : Math.min(...waits);
}
