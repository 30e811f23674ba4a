import { expect, test } from 'vitest';
import { InFlight } from '../../src/shared/in-flight.js';

test('what is at work takes room until it ends, of its owner and of all, and what fails is told', async () => {
  const failures: unknown[] = [];
  const at = new InFlight({ atOnce: 3, each: 2 }, (error) => void failures.push(error));
  const ends: (() => void)[] = [];
  const held = () => new Promise<void>((resolve) => void ends.push(resolve));
  at.begin('ada', held);
  expect([at.room, at.busy]).toEqual([2, []]);
  at.begin('ada', held);
  at.begin('grace', async () => {
    await held();
    throw new Error('broken');
  });
  expect([at.room, at.busy]).toEqual([0, ['ada']]);
  for (const end of ends) end();
  await at.idle();
  expect([at.room, at.busy]).toEqual([3, []]);
  expect(failures).toEqual([new Error('broken')]);
});
