import { expect, test } from 'vitest';
import { OutputCapture, textOf } from '../../src/sandbox/capture-output.js';
import { fc } from '../support/properties.js';

const chunks = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 30 });

test('output that fits is kept whole; longer output keeps its first and its last bytes and counts the rest', () => {
  fc.assert(
    fc.property(chunks, fc.integer({ min: 2, max: 200 }), (parts, kept) => {
      const ascii = parts.map((part) => Buffer.from(part.map((byte) => 97 + (byte % 26))));
      const capture = new OutputCapture(kept);
      for (const part of ascii) capture.push(part);
      const whole = Buffer.concat(ascii).toString('utf8');
      const half = Math.floor(kept / 2);
      const { text, truncated, seen } = capture.end();
      expect(seen).toBe(whole.length);
      expect(truncated).toBe(whole.length > 2 * half);
      const cut = whole.length - 2 * half;
      expect(text).toBe(
        truncated ? `${whole.slice(0, half)}\n[… ${cut} bytes left out …]\n${whole.slice(-half)}` : whole,
      );
    }),
  );
});

test('longer output has no halves of characters beside what was left out, and counts them to it', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'ä', '€', '\u{10000}'), minLength: 20, maxLength: 60 });
  fc.assert(
    fc.property(text, fc.integer({ min: 2, max: 18 }), (whole, kept) => {
      const capture = new OutputCapture(kept);
      capture.push(Buffer.from(whole));
      const [, head = '', cut, last = ''] =
        /^(.*)\n\[… (\d+) bytes left out …\]\n(.*)$/s.exec(capture.end().text) ?? [];
      expect(whole.startsWith(head) && whole.endsWith(last)).toBe(true);
      expect(Buffer.byteLength(head + last) + Number(cut)).toBe(Buffer.byteLength(whole));
      for (const half of [head, last]) expect(Buffer.byteLength(half)).toBeGreaterThan(Math.floor(kept / 2) - 4);
    }),
  );
});

test('a character over the border of two chunks is told whole', () => {
  const told: string[] = [];
  const write = textOf((text) => void told.push(text));
  for (const byte of Buffer.from('aä€😀')) write(Buffer.from([byte]));
  expect(told).toEqual(['a', 'ä', '€', '😀']);
});
