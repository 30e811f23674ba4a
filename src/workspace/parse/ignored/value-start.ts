import { isApprover } from '../step-options.js';
import type { Fit, KnownKey } from './known-keys.js';

/** The beginning of a value that is an option's, before words that make it prose: `30s max`, `human (Anna)`. */
export interface ValueStart {
  readonly text: string;
  readonly fit: Exclude<Fit, 'no'>;
}

/** No value that is cut off is longer. */
const MAX_START = 200;
const BRACKETED = /^(?:\[[^[\]]*\]|\{[^{}]*\})(?=[\s,;.!])/;
const BEFORE_BRACKET = /^[^,;([{]*[^,;([{\s](?=\s*[,;([{])/;
const FIRST_WORD = /^\S+/;

/** Only for keys without which a gate, a limit, a condition or a secret is lost. */
export function startOf(known: KnownKey, value: string): ValueStart | null {
  if (!known.isRisky) return null;
  const text = value.slice(0, MAX_START).replace(/^[*_~`"'“‘\s]+/u, '');
  if (known.key === 'approve') return decidersAtStart(text);
  const cut = BEFORE_BRACKET.exec(text)?.[0];
  for (const start of [BRACKETED.exec(text)?.[0], cut, FIRST_WORD.exec(text)?.[0]]) {
    if (start === undefined || start === value) continue;
    const spelled = start.replace(/[*_~`"'.!?,;:]+$/, '');
    const fit = spelled === '' ? 'no' : known.fit(spelled);
    if (fit === 'no') continue;
    // `true or false` and `what was used` begin with words that fit, too.
    const isName = known.isName && !known.key.includes('_');
    const isTelling = fit === 'strong' || (!known.isName && /\d/.test(spelled)) || (start === cut && !isName);
    if (isTelling) return { text: spelled, fit: 'weak' };
  }
  return null;
}

const FILLERS: ReadonlySet<string> = new Set([
  'a',
  'an',
  'any',
  'by',
  'from',
  'of',
  'one',
  'only',
  'our',
  'the',
  'your',
]);
const CONNECTIVES: ReadonlySet<string> = new Set(['and', 'or', 'and/or', 'then']);

/** `the owner, always`: the first word that is not a filler names a decider. */
function decidersAtStart(value: string): ValueStart | null {
  const words = value
    .split(/[\s,;()[\]{}<>|&+]+/)
    .map((word) => word.replace(/^[*_~`"'“‘]+|[*_~`"'”’.!?:]+$/gu, '').toLowerCase())
    .filter((word) => word !== '');
  const first = words.findIndex((word) => !FILLERS.has(word));
  const deciders: string[] = [];
  for (const word of words.slice(Math.max(first, 0))) {
    if (isApprover(word)) deciders.push(word);
    else if (deciders.length === 0 || !(CONNECTIVES.has(word) || FILLERS.has(word))) break;
  }
  const [decider] = deciders;
  if (decider === undefined) return null;
  const isList = deciders.length > 1 && !deciders.includes('human');
  return { text: isList ? `[${[...new Set(deciders)].join(', ')}]` : decider, fit: 'strong' };
}
