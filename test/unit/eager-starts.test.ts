import { expect, test } from 'vitest';
import { EagerStarts } from '../../src/platform/temporal/eager-starts.js';

function deferred() {
  let end: (error?: Error) => void = () => undefined;
  const promise = new Promise<void>((resolve, reject) => {
    end = (error) => (error ? reject(error) : resolve());
  });
  return { promise, end };
}

test('no start is eager before a worker runs; closing waits for each eager start that is pending, and later ones are not eager', async () => {
  const starts = new EagerStarts();
  expect(await starts.run(async (isEager) => isEager)).toBe(false);
  starts.open();
  const pending = [deferred(), deferred()];
  const wasEager: boolean[] = [];
  const running = pending.map(({ promise }) =>
    starts.run((isEager) => {
      wasEager.push(isEager);
      return promise;
    }),
  );
  const ended: string[] = [];
  const closing = starts.close().then(() => ended.push('closed'));
  await starts.run(async (isEager) => wasEager.push(isEager));
  pending[0]?.end();
  await running[0];
  ended.push('first start');
  pending[1]?.end(new Error('refused'));
  await expect(running[1]).rejects.toThrow('refused');
  await closing;
  expect(ended).toEqual(['first start', 'closed']);
  expect(wasEager).toEqual([true, true, false]);
  starts.open();
  expect(await starts.run(async (isEager) => isEager)).toBe(true);
});

test('a connection has one count, which all its users share', () => {
  const [one, other] = [{}, {}];
  expect(EagerStarts.of(one)).toBe(EagerStarts.of(one));
  expect(EagerStarts.of(one)).not.toBe(EagerStarts.of(other));
});
