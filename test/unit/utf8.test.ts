import { expect, test } from 'vitest';
import { decodeUtf8 } from '../../src/shared/utf8.js';
import { fc } from '../support/properties.js';

test('text is decoded exactly, a byte order mark included', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(decodeUtf8(new TextEncoder().encode(`\uFEFF${text}`))).toBe(`\uFEFF${text}`);
    }),
  );
});

test('bytes are text exactly when the standard decoder accepts them', () => {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const accepted = (bytes: Uint8Array) => {
    try {
      return decoder.decode(bytes);
    } catch {
      return null;
    }
  };
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 8 }), (bytes) => {
      expect(decodeUtf8(bytes)).toBe(accepted(bytes));
    }),
    { examples: [[Uint8Array.of(0xed, 0xa0, 0x80)], [Uint8Array.of(0xc0, 0x80)], [new Uint8Array()]] },
  );
});
