import { expect, test } from 'vitest';
import { inTurn } from '../../src/content/workspaces/in-turn.js';

test('writers of one workspace go one after the other, in order, also past one that fails; others do not wait', async () => {
  const log: string[] = [];
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const first = inTurn('one', async () => {
    log.push('first in');
    await gate;
    log.push('first out');
    throw new Error('first failed');
  });
  const second = inTurn('one', async () => log.push('second'));
  await inTurn('two', async () => log.push('other'));
  expect(log).toEqual(['first in', 'other']);
  open();
  await expect(first).rejects.toThrow('first failed');
  await second;
  expect(log).toEqual(['first in', 'other', 'first out', 'second']);
});
