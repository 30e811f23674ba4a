import { expect, test } from 'vitest';
import { forEachIndependently } from '../../src/shared/for-each-independently.js';

test('each has its turn, in order, and the first error is told at the end', async () => {
  const done: number[] = [];
  const work = forEachIndependently([1, 2, 3, 4], async (n) => {
    done.push(n);
    if (n % 2 === 0) throw new Error(`no ${n}`);
  });
  await expect(work).rejects.toThrow('no 2');
  expect(done).toEqual([1, 2, 3, 4]);
  await expect(forEachIndependently([], async () => Promise.reject(new Error('never')))).resolves.toBeUndefined();
});
