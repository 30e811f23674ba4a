import { Refusal } from './refusal.js';

/** Encodes a text as UTF-8. Refuses half a surrogate pair, which has no encoding and would become another character. */
export function textBytes(text: string, where = 'a text'): Uint8Array {
  if (!/\p{Surrogate}/u.test(text)) return new TextEncoder().encode(text);
  throw new Refusal('refused', `${where} holds half a surrogate pair: send valid Unicode`, { code: 'invalid' });
}
