import { expect, test } from 'vitest';
import { Turns } from '../../src/engine/agent/deaths.js';

function turnsAt() {
  const clock = { now: 0 };
  const turns = new Turns(() => clock.now);
  const acquire = (key: string, rank = 0) => turns.acquire(key, { rank, againInMs: 1_000 });
  return { clock, acquire };
}

/** The first of them that gets the turn, each asking in this order. */
function next(
  acquire: (key: string, rank?: number) => (() => void) | null,
  asking: readonly [string, number][],
): string {
  for (const [key, rank] of asking) {
    const end = acquire(key, rank);
    if (end === null) continue;
    end();
    return key;
  }
  return 'none';
}

test('one at a time, the lowest rank first, and of equal ranks the first that asked', () => {
  const { acquire } = turnsAt();
  const end = acquire('first');
  const asking: [string, number][] = [
    ['two', 2],
    ['one, early', 1],
    ['zero', 0],
    ['one, late', 1],
  ];
  for (const [key, rank] of asking) expect(acquire(key, rank)).toBeNull();
  end?.();
  const left = (done: readonly string[]) => asking.filter(([key]) => !done.includes(key)).reverse();
  const done: string[] = [];
  while (done.length < asking.length) done.push(next(acquire, left(done)));
  expect(done).toEqual(['zero', 'one, early', 'one, late', 'two']);
});

test('a newcomer waits behind those of its rank that wait already, and goes before those of a higher one', () => {
  const { acquire } = turnsAt();
  const end = acquire('first');
  expect([acquire('same', 1), acquire('higher', 3)]).toEqual([null, null]);
  end?.();
  expect(acquire('newcomer', 1)).toBeNull();
  expect(next(acquire, [['newcomer', 2]])).toBe('none');
  expect(next(acquire, [['same', 1]])).toBe('same');
  expect(next(acquire, [['newcomer', 2]])).toBe('newcomer');
});

test('a call that does not come back keeps its place for a while, and holds up none after that', () => {
  const { clock, acquire } = turnsAt();
  const end = acquire('first');
  expect(acquire('gone', 0)).toBeNull();
  end?.();
  expect(acquire('next', 1)).toBeNull();
  clock.now += 11_001;
  expect(acquire('next', 1)).not.toBeNull();
});
