import { expect, test } from 'vitest';
import { jsonShapeFault } from '../../src/shared/json-shape.js';
import { cpuUnit, expectCpu } from '../support/cpu-cost.js';
import { fc } from '../support/properties.js';

const MIB = 1_048_576;

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

test('security 16: thirty-two mebibytes of quotes cost about eight times what four do, and of brackets no more', async () => {
  // What `repeat` gives is joined only when it is read, which would count as the cost of the first look.
  const flat = (text: string) => Buffer.from(text).toString();
  const brackets = (length: number) => flat('[],'.repeat(length / 3));
  const quotes = (length: number) => flat(`"${'\\"'.repeat(length / 2)}`);
  const [small, large] = [4, 32].map((mib) => [brackets(mib * MIB), quotes(mib * MIB)] as const);
  const refuse = (text = '') => expect(jsonShapeFault(text)).toBe('holds more than 200000 values');
  const pass = (text = '') => expect(jsonShapeFault(text)).toBeNull();
  await expectCpu(() => pass(large?.[1]), { atMost: 24, unit: cpuUnit(() => pass(small?.[1])) });
  await expectCpu(() => refuse(large?.[0]), { atMost: 3, unit: cpuUnit(() => refuse(small?.[0])) });
});
