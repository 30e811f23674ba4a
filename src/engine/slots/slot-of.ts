import { createHash } from 'node:crypto';
import { evaluateCel } from '../../format/index.js';
import type { Plan } from '../../format/model.js';
import { toJson } from '../../shared/exact-json.js';
import type { Json } from '../../shared/json.js';

/** The slot that a run needs while active: at most `limit` runs of the workspace hold one of a key. */
export interface SlotClaim {
  readonly key: string;
  readonly limit: number;
  readonly onLimit: 'queue' | 'skip' | 'cancel';
}

/** Longer keys are replaced by their digest, since index entries are short. */
const MAX_KEY = 200;

/**
 * What `concurrency` asks of a run with this input: null when the flow has none, an error text when its key is not a
 * text.
 */
export function slotOf(
  plan: Plan,
  at: { readonly input: Json; readonly trigger: Json },
): SlotClaim | { readonly fault: string } | null {
  const { concurrency } = plan;
  if (!concurrency) return null;
  const { limit, onLimit, key: source } = concurrency;
  if (source === undefined) return { key: plan.flow, limit, onLimit };
  const answer = evaluateCel(source, { input: at.input, trigger: at.trigger });
  if (!answer.ok) return { fault: `concurrency.key: ${answer.message}` };
  if (typeof answer.value !== 'string') {
    const shown = toJson(answer.value).slice(0, 100);
    return { fault: `concurrency.key: ${source} is ${shown}, and has to be a text: string(…) makes one of a number` };
  }
  const text = answer.value.length > MAX_KEY ? digest(answer.value) : answer.value;
  return { key: `${plan.flow}/${text}`, limit, onLimit };
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
