import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonShapeFault } from '../../src/shared/json-shape.js';
import { cpuMs } from '../support/cpu-ms.js';

test('a text of 64 levels may be parsed and one of 65 may not, whatever its strings hold', () => {
  const nested = (levels: number) => `${'{"]\\"[\\\\":['.repeat(levels / 2)}${']}'.repeat(levels / 2)}`;
  expect(jsonShapeFault(nested(64))).toBeNull();
  expect(jsonShapeFault(nested(66))).toBe('is nested deeper than 64 levels');
});

test('a text of more values than any tree has is refused before it is parsed', () => {
  expect(jsonShapeFault(`[${'0,'.repeat(200_000)}0]`)).toBe('holds more than 200000 values');
  expect(jsonShapeFault(`[${'0,'.repeat(100_000)}0]`)).toBeNull();
  expect(jsonShapeFault(JSON.stringify({ text: '[{,'.repeat(300_000) }))).toBeNull();
});

test('no JSON of an ordinary shape has a fault, and no text makes it throw', () => {
  fc.assert(fc.property(fc.json(), (text) => jsonShapeFault(text) === null));
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('"', '\\', '[', '{', ']', ',', 'a') }), (text) => {
      expect(() => jsonShapeFault(text)).not.toThrow();
    }),
  );
});

test('security 16: thirty-two mebibytes of brackets cost less than the two seconds of their own refusal', () => {
  const brackets = JSON.stringify(`${'[],'.repeat(11_000_000)}`).slice(1, -1);
  const quotes = Buffer.from(`"${'\\"'.repeat(16_000_000)}`).toString();
  const started = cpuMs();
  expect(jsonShapeFault(brackets)).toBe('holds more than 200000 values');
  expect(jsonShapeFault(quotes)).toBeNull();
  expect(cpuMs() - started).toBeLessThan(2_000);
});
