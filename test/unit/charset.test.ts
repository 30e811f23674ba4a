import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { charsetNamed, charsetOf, decodeIn, decodeLossy } from '../../src/shared/charset.js';

interface Standard {
  readonly labels: Readonly<Record<string, readonly string[]>>;
  /** What the bytes 80–FF are; U+FFFD for none. */
  readonly singleByte: Readonly<Record<string, string>>;
  /** SHA-256 of what all pairs of 81–FE and 40–FE are, in order; U+FFFD for none. */
  readonly pairs: Readonly<Record<string, string>>;
}

const standard: Standard = JSON.parse(
  readFileSync(new URL('../fixtures/whatwg-encodings.json', import.meta.url), 'utf8'),
);
const labels = Object.entries(standard.labels).flatMap(([name, all]) => all.map((label) => [label, name] as const));
const high = Uint8Array.from({ length: 128 }, (_, at) => at + 128);

describe('charsets are those of the Encoding Standard', () => {
  test.each(labels)('the label %s is %s, in any case and with quotes', (label, name) => {
    const decoded = name === 'replacement' ? null : name;
    for (const spelt of [label, label.toUpperCase(), ` ${label} `]) expect(charsetNamed(spelt)).toBe(decoded);
    const known = decoded === 'utf-8' ? null : decoded;
    expect(charsetOf(`text/plain; charset=${label}`)).toBe(known);
    expect(charsetOf(`text/plain;Charset="${label}"; a=b`)).toBe(known);
    const table = standard.singleByte[name];
    if (table !== undefined) expect(decodeLossy(high, label)).toBe(table);
  });

  test.each(Object.entries(standard.singleByte))('every byte of %s is what its table says', (name, table) => {
    const bytes = [...high].filter((_, at) => table[at] !== '\uFFFD');
    for (const byte of bytes) expect(decodeIn(Uint8Array.of(byte), name)).toBe(table[byte - 128]);
    for (const byte of [...high].filter((one) => !bytes.includes(one)))
      expect(decodeIn(Uint8Array.of(byte), name)).toBeNull();
  });

  test.each(Object.entries(standard.pairs))('every pair of bytes of %s is what its table says', (name, digest) => {
    const hash = createHash('sha256');
    for (let lead = 0x81; lead < 0xff; lead += 1) {
      // One byte alone is a character there, or begins another one.
      if (name === 'shift_jis' && ((lead >= 0xa0 && lead <= 0xdf) || lead > 0xfc)) continue;
      if (name === 'euc-jp' && lead < 0xa1) continue;
      let row = '';
      for (let trail = 0x40; trail < 0xff; trail += 1) row += decodeStrictly(Uint8Array.of(lead, trail), name);
      hash.update(row);
    }
    expect(hash.digest('hex')).toBe(digest);
  });
});

/** Not `decodeIn`, which takes what is UTF-8 as UTF-8. */
function decodeStrictly(pair: Uint8Array, name: string): string {
  const text = decodeLossy(pair, name);
  return text.includes('\uFFFD') ? '\uFFFD' : text;
}

test('UTF-8 is taken as UTF-8 whatever charset is named, and what is in neither is null', () => {
  expect(decodeIn(Buffer.from('café “x”'), 'windows-1252')).toBe('café “x”');
  expect(decodeIn(Uint8Array.of(0x93, 0x94), 'windows-1252')).toBe('“”');
  expect(decodeIn(Uint8Array.of(0x93, 0x94), null)).toBeNull();
  expect(decodeIn(Uint8Array.of(0x81), 'windows-1253')).toBe('\x81');
  expect(decodeIn(Uint8Array.of(0xd2), 'windows-1253')).toBeNull();
  expect(charsetOf('text/plain; charset=none')).toBeNull();
});
