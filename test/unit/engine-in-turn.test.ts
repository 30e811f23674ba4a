import { expect, test } from 'vitest';
import { inTurn } from '../../src/engine/agent/in-turn.js';

const never = new AbortController().signal;

function held(): { readonly work: () => Promise<void>; readonly release: () => void } {
  let release = (): void => undefined;
  const open = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { work: () => open, release };
}

test('one at a time, the lowest rank first, and of equal ranks the first to come', async () => {
  const order: string[] = [];
  const first = held();
  const told = (name: string) => async () => void order.push(name);
  const all = [
    inTurn(0, never, first.work),
    inTurn(2, never, told('2')),
    inTurn(1, never, told('1a')),
    inTurn(0, never, told('0')),
    inTurn(1, never, told('1b')),
  ];
  await Promise.resolve();
  expect(order).toEqual([]);
  first.release();
  await Promise.all(all);
  expect(order).toEqual(['0', '1a', '1b', '2']);
});

test('a failure passes the turn on, and who leaves the line does not hold it up', async () => {
  const first = held();
  const leaving = new AbortController();
  const one = inTurn(0, never, async () => {
    await first.work();
    throw new Error('it failed');
  });
  const two = inTurn(1, leaving.signal, async () => 'two');
  const three = inTurn(2, never, async () => 'three');
  leaving.abort(new Error('left'));
  first.release();
  await expect(one).rejects.toThrow('it failed');
  await expect(two).rejects.toThrow('left');
  await expect(three).resolves.toBe('three');
  await expect(inTurn(0, never, async () => 'free again')).resolves.toBe('free again');
});
