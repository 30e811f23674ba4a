import type { Json } from '../../shared/json.js';
import { TRIGGER_KEYS } from '../parse/keys/flow-keys.js';
import { isSame } from './keep-spelling.js';
import { setKeys, valuesOf } from './set-keys.js';
import { behindMark, type Edited, refuse } from './splice.js';

type Keys = Readonly<Record<string, Json>>;

const OWN = new Set(['trigger', 'timezone', ...Object.keys(TRIGGER_KEYS)]);

/** Sets what starts a flow: a word, a list of words, or an object with `trigger` and keys that belong to triggers. */
export function setTrigger(text: string, wanted: string | readonly string[] | Keys): Edited {
  const keys = typeof wanted === 'string' || isList(wanted) ? { trigger: wanted } : wanted;
  const unknown = Object.keys(keys).find((key) => !OWN.has(key));
  if (unknown !== undefined) return refuse(`\`${unknown}\` is not a key of a trigger.`);
  const { trigger, ...others } = keys;
  // Without `trigger`, a flow is manual. With keys of another trigger, `manual` must be written out.
  const fallback = Object.keys(others).length === 0 ? 'manual' : null;
  return behindMark(text, (plain) => {
    const now = valuesOf(plain)?.trigger ?? fallback;
    return setKeys(plain, trigger === undefined || isSame(words(now), words(trigger)) ? others : keys);
  });
}

function isList(wanted: readonly string[] | Keys): wanted is readonly string[] {
  return Array.isArray(wanted);
}

/** A single word equals a list of that word, as flows show it. */
function words(trigger: Json): Json {
  return typeof trigger === 'string' ? trigger.split(/\s*,\s*/) : trigger;
}
