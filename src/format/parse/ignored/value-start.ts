import type { Fit, KnownKey } from './known-keys.js';
import { decidersAtStart } from './near-deciders.js';

/** Words and signs before a number: `about $5`, `at most 3`. */
const BEFORE =
  /^(?:(?:about|around|approx(?:imately)?|circa|ca|at|most|least|up|to|no|not|more|less|fewer|than|under|over|below|within|max(?:imum)?|min(?:imum)?|only|just|always|exactly|roughly|nearly|the|a|an|total|of|for|after|every|by|is|must|be|should|please|kindly|ask|asks|limit(?:ed)?|set|use|us|usd|eur|gbp|chf|dollars?|euros?)(?![\w])\.?:?|[~≈<>≤≥=±@#€£¥]|(?:us|usd)?\$)\s*/iu;

const MAX_BEFORE = 8;

const COUNTED = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ');

const NUMBER = /^\d{1,9}(?:\.\d{1,9})?/;

/** Any word that begins like a unit, so that `4hs` counts too. `mo` is excluded: a month is not a unit. */
const UNIT = /^\s*-?\s*(?!mo)([smhdw])[a-z]*/i;

/** The start of a value that is valid for the option, before words that look like prose: `30s max`, `human (Anna)`. */
export interface ValueStart {
  readonly text: string;
  readonly fit: Exclude<Fit, 'no'>;
}

/** Only this much of a value is examined. */
const MAX_START = 200;

const BRACKETED = /^(?:\[[^[\]]*\]|\{[^{}]*\})(?=[\s,;.!])/;

const BEFORE_BRACKET = /^[^,;([{]*[^,;([{\s](?=\s*[,;([{])/;

const FIRST_WORD = /^\S+/;

/** Only for risky keys: without them a gate, a limit, a condition or a secret is lost. */
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
    // `true or false` and `what was used` begin with valid words too.
    const isName = known.isName && !known.key.includes('_');
    const isCertain = fit === 'strong' || (!known.isName && /\d/.test(spelled)) || (start === cut && !isName);
    if (isCertain) return { text: spelled, fit: 'weak' };
  }
  const near = known.key === 'secrets' ? secretsIn(text) : nearAmount(known, text);
  return near === null ? null : { text: near, fit: 'weak' };
}

const SECRET_NAME = /(?<![\w$])[A-Z][A-Z0-9]*_[A-Z0-9_]+(?!\w)/g;

/** Upper-case names within words: `the STRIPE_KEY`. */
function secretsIn(text: string): string | null {
  const names = text.match(SECRET_NAME) ?? [];
  return names.length === 0 ? null : `[${names.join(', ')}]`;
}

/**
 * The number, duration or word that a value nearly is: `about $5`, `EUR 5`, `30 seconds`, `two hours`, `please event`.
 * The key determines which of them fits. Null when none does, and for keys whose value may be any name.
 */
function nearAmount(known: KnownKey, value: string): string | null {
  if (known.isName || known.isExpression) return null;
  const bare = withoutBefore(value);
  const counted = COUNTED.indexOf(/^[a-z]+/i.exec(bare)?.[0].toLowerCase() ?? '');
  const text = counted < 0 ? bare : bare.replace(/^[a-z]+/i, String(counted));
  const number = NUMBER.exec(text)?.[0];
  if (number === undefined) return bare !== value && known.fit(bare) !== 'no' ? bare : null;
  const unit = UNIT.exec(text.slice(number.length))?.[1]?.toLowerCase() ?? '';
  return [`${number}${unit}`, number].find((spelled) => known.fit(spelled) !== 'no') ?? null;
}

function withoutBefore(value: string): string {
  let text = value.trim();
  for (let times = 0; times < MAX_BEFORE; times += 1) {
    const before = BEFORE.exec(text)?.[0];
    if (before === undefined) break;
    text = text.slice(before.length);
  }
  return text.replace(/[*_~`"'.!?,;:)\]]+$/, '');
}
