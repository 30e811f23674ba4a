import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createGate } from '../../src/shared/gate.js';

const full = () => new Error('full');
const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

test('security 25: no more works than its width are ever under way, and each ends, whatever fails', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.record({ ticks: fc.integer({ min: 1, max: 3 }), fails: fc.boolean() }), { maxLength: 20 }),
      async (width, works) => {
        const gate = createGate(width, 20, full);
        let [underWay, most] = [0, 0];
        const results = await Promise.allSettled(
          works.map(({ ticks, fails }) =>
            gate(async () => {
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
        expect(await gate(async () => 'free again')).toBe('free again');
      },
    ),
  );
});

test('a full line turns away at once, and those in it still get their turn, in order', async () => {
  const gate = createGate(1, 2, full);
  const begun: string[] = [];
  let end: () => void = () => undefined;
  const first = gate(() => new Promise<void>((resolve) => (end = resolve)));
  const [second, third] = ['second', 'third'].map((name) => gate(async () => void begun.push(name)));
  await expect(gate(async () => undefined)).rejects.toThrow('full');
  end();
  await Promise.all([first, second, third]);
  expect(begun).toEqual(['second', 'third']);
});
