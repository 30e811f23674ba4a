import { isUtf8 } from 'node:buffer';
// Node's own decoder differs from the Encoding Standard for ten charsets, windows-1252 among them, and lacks two.
import { normalizeEncoding, TextDecoder as StandardDecoder } from '@exodus/bytes/encoding.js';
import { Refusal } from './refusal.js';

/** The charset that a Content-Type names; null for UTF-8, for none, and for one that the standard does not know. */
export function charsetOf(type: string): string | null {
  const label = /;\s*charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^;\s]+))/i.exec(type)?.slice(1).find(Boolean);
  const name = label === undefined ? null : charsetNamed(label);
  return name === 'utf-8' ? null : name;
}

/** The standard's name for a label; null for a label that has none, and for charsets that must not be decoded. */
export function charsetNamed(label: string): string | null {
  const name = normalizeEncoding(label);
  return name === 'replacement' ? null : name;
}

/**
 * Most senders send UTF-8, whatever charset they name. Escape and NUL bytes mean another charset, whose bytes can be
 * valid UTF-8.
 */
function looksLikeUtf8(bytes: Uint8Array): boolean {
  return isUtf8(bytes) && !bytes.includes(0x1b) && !bytes.includes(0);
}

/** Decodes bytes as UTF-8, which many send whatever they name, else in the charset; null when they are in neither. */
export function decodeIn(bytes: Uint8Array, charset: string | null): string | null {
  if (charset === null) return isUtf8(bytes) ? new TextDecoder().decode(bytes) : null;
  if (looksLikeUtf8(bytes)) return new TextDecoder().decode(bytes);
  try {
    return new StandardDecoder(charset, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Decodes bytes in the charset of this label, or as UTF-8 for an unknown label. Invalid bytes become U+FFFD. */
export function decodeLossy(bytes: Uint8Array, label = 'utf-8'): string {
  const charset = charsetNamed(label) ?? 'utf-8';
  return charset === 'utf-8'
    ? new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
    : new StandardDecoder(charset, { ignoreBOM: true }).decode(bytes);
}

/** The fields of a urlencoded form as bytes, in their order. */
export function formBytes(body: Uint8Array): readonly (readonly [name: Uint8Array, value: Uint8Array])[] {
  // Latin-1 maps each byte to one character until the charset is known.
  const pairs = Buffer.from(body).toString('latin1').split('&');
  return pairs.flatMap((pair) => {
    if (pair === '') return [];
    const at = pair.indexOf('=');
    const [name, value] = at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)];
    return [[unescaped(name), unescaped(value)]] as const;
  });
}

/**
 * The fields of a urlencoded form, each in UTF-8 or in this charset; null when one is in neither. Without a charset the
 * form may name it by its field `_charset_`, which browsers fill in.
 */
export function fieldsIn(body: Uint8Array, named: string | null): readonly (readonly [string, string])[] | null {
  const fields: (readonly [string, string])[] = [];
  const all = formBytes(body);
  const field = all.find(([name]) => decodeLossy(name) === '_charset_');
  const charset = named ?? (field === undefined ? null : charsetNamed(decodeLossy(field[1])));
  for (const [name, value] of all) {
    const [key, text] = [decodeIn(name, charset), decodeIn(value, charset)];
    if (key === null || text === null) return null;
    fields.push([key, text]);
  }
  return fields;
}

function unescaped(text: string): Uint8Array {
  const plain = text.replaceAll('+', ' ');
  const bytes = plain.replace(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1');
}

/** The refusal of bytes that no named charset can decode. */
export function notUtf8(what: string): Refusal {
  const message = `${what} is not UTF-8: send UTF-8, or name its charset in Content-Type`;
  return new Refusal('malformed', message, { code: 'not-utf-8' });
}
