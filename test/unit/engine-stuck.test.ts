import { expect, test } from 'vitest';
import { wasReached } from '../../src/engine/agent/stuck.js';
import { fc } from '../support/properties.js';

test('a row of equal calls is told once, in the turn that brought it to three, however many calls the turn had', () => {
  const turns = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(turns, (sizes) => {
      let count = 0;
      const told = sizes.filter((size) => {
        count += size;
        return wasReached(
          Array.from({ length: count }, () => 'same'),
          size,
        );
      });
      expect(told).toHaveLength(count >= 3 ? 1 : 0);
    }),
  );
});

test('another call in between begins a new row', () => {
  expect(wasReached(['a', 'a', 'b', 'a'], 2)).toBe(false);
  expect(wasReached(['a', 'b', 'b', 'b'], 3)).toBe(true);
});
