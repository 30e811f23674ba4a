import { expect, test, vi } from 'vitest';
import { createSemaphore } from '../../src/shared/semaphore.js';
import { fc } from '../support/properties.js';

const full = () => new Error('full');
const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

test('security 25: no more works than its width are ever under way, and each ends, whatever fails', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.record({ ticks: fc.integer({ min: 1, max: 3 }), fails: fc.boolean() }), { maxLength: 20 }),
      async (width, works) => {
        const semaphore = createSemaphore({ permits: width, queue: { most: 20, full } });
        let [underWay, most] = [0, 0];
        const results = await Promise.allSettled(
          works.map(({ ticks, fails }) =>
            semaphore.run(async () => {
              underWay += 1;
              most = Math.max(most, underWay);
              for (let n = 0; n < ticks; n += 1) await tick();
              underWay -= 1;
              if (fails) throw new Error('failed');
            }),
          ),
        );
        expect(results.map(({ status }) => status === 'rejected')).toEqual(works.map(({ fails }) => fails));
        expect(most).toBe(Math.min(width, works.length));
        expect(await semaphore.run(async () => 'free again')).toBe('free again');
      },
    ),
  );
});

test('a full line turns away at once, and those in it still get their turn, in order', async () => {
  const semaphore = createSemaphore({ permits: 1, queue: { most: 2, full } });
  const begun: string[] = [];
  let end: () => void = () => undefined;
  const first = semaphore.run(() => new Promise<void>((resolve) => (end = resolve)));
  const [second, third] = ['second', 'third'].map((name) => semaphore.run(async () => void begun.push(name)));
  expect(() => semaphore.assertRoom()).toThrow('full');
  await expect(semaphore.run(async () => undefined)).rejects.toThrow('full');
  end();
  await Promise.all([first, second, third]);
  expect(begun).toEqual(['second', 'third']);
  semaphore.assertRoom();
});

test('a place rests after a work while others wait, and never keeps the one that worked waiting', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
  const semaphore = createSemaphore({ permits: 1, queue: { most: 5, full }, rest: 2 });
  const ended: string[] = [];
  const work = (name: string) =>
    semaphore.run(() => new Promise<void>((resolve) => setTimeout(resolve, 10))).then(() => ended.push(name));
  const all = [work('first'), work('second')];
  await vi.advanceTimersByTimeAsync(10);
  expect(ended).toEqual(['first']);
  await vi.advanceTimersByTimeAsync(29);
  expect(ended).toEqual(['first']);
  await vi.advanceTimersByTimeAsync(1);
  expect(ended).toEqual(['first', 'second']);
  await Promise.all(all);
  // Nobody waited for the second, so its place is free at once.
  all.push(work('third'));
  await vi.advanceTimersByTimeAsync(10);
  expect(ended).toEqual(['first', 'second', 'third']);
  vi.useRealTimers();
});
