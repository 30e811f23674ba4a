import { Refusal } from './refusal.js';

/** A text as UTF-8; refused when it holds half a surrogate pair, which has no bytes and would become another sign. */
export function textBytes(text: string, where = 'a text'): Uint8Array {
  if (!/\p{Surrogate}/u.test(text)) return new TextEncoder().encode(text);
  throw new Refusal('refused', `${where} holds half a surrogate pair: send valid Unicode`, { code: 'invalid' });
}
