import type { KnownKey } from './known-keys.js';

/** Words and signs before a number: `about $5`, `at most 3`. */
const BEFORE =
  /^(?:(?:about|around|approx(?:imately)?|circa|ca|at|most|least|up|to|no|not|more|less|fewer|than|under|over|below|within|max(?:imum)?|min(?:imum)?|only|just|always|exactly|roughly|nearly|the|a|an|total|of|for|after|every|by|is|must|be|should|please|kindly|ask|asks|limit(?:ed)?|set|use|us|usd|eur|gbp|chf|dollars?|euros?)(?![\w])\.?:?|[~≈<>≤≥=±@#€£¥]|(?:us|usd)?\$)\s*/iu;
const MAX_BEFORE = 8;
const COUNTED = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ');
const NUMBER = /^\d{1,9}(?:\.\d{1,9})?/;
/** Any word that begins like a unit, so that `4hs` counts too; a month is not one. */
const UNIT = /^\s*-?\s*(?!mo)([smhdw])[a-z]*/i;

/**
 * The number, time or word that a value nearly is: `about $5`, `EUR 5`, `30 seconds`, `two hours`, `please event`. The
 * key says which of them fits; null when none does, and for names, which any word is.
 */
export function nearAmount(known: KnownKey, value: string): string | null {
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
