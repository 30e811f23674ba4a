import type { Json } from '../../shared/json.js';
import { TRIGGER_KEYS } from '../parse/keys/flow-keys.js';
import { setKeys } from './set-keys.js';
import { type Edited, refuse } from './splice.js';

const OWN = new Set(['trigger', 'timezone', ...Object.keys(TRIGGER_KEYS)]);

/** Sets what starts a flow: a word, a list of words, or an object with `trigger` and keys that belong to triggers. */
export function setTrigger(text: string, trigger: string | readonly string[] | Readonly<Record<string, Json>>): Edited {
  if (typeof trigger === 'string') return setKeys(text, { trigger });
  if (Array.isArray(trigger)) return setKeys(text, { trigger: trigger as readonly string[] });
  const keys = trigger as Readonly<Record<string, Json>>;
  const strange = Object.keys(keys).find((key) => !OWN.has(key));
  return strange === undefined ? setKeys(text, keys) : refuse(`\`${strange}\` is no key of a trigger.`);
}
