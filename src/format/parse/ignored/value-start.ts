import type { Fit, KnownKey } from './known-keys.js';
import { nearAmount } from './near-amount.js';
import { decidersAtStart } from './near-deciders.js';

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
    const isCertain = fit === 'strong' || (!known.isName && /\d/.test(spelled)) || (start === cut && !isName);
    if (isCertain) return { text: spelled, fit: 'weak' };
  }
  const near = known.key === 'secrets' ? secretsIn(text) : nearAmount(known, text);
  return near === null ? null : { text: near, fit: 'weak' };
}

const SECRET_NAME = /(?<![\w$])[A-Z][A-Z0-9]*_[A-Z0-9_]+(?!\w)/g;

/** Names in capitals among words: `the STRIPE_KEY`. */
function secretsIn(text: string): string | null {
  const names = text.match(SECRET_NAME) ?? [];
  return names.length === 0 ? null : `[${names.join(', ')}]`;
}
