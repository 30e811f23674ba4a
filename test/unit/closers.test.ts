import { expect, test } from 'vitest';
import { Closers } from '../../src/shared/closers.js';
import { recordingLog } from '../support/recording-log.js';

const forever = () => new Promise<never>(() => undefined);

test('parts close one after the other, the newest first', async () => {
  const closers = new Closers();
  const events: string[] = [];
  for (const name of ['first', 'second']) {
    const close = async () => {
      events.push(`${name} begins`);
      await Promise.resolve();
      events.push(`${name} ends`);
    };
    closers.add({ name, close, withinMs: 60_000 });
  }
  expect(await closers.close(null)).toBe(true);
  expect(events).toEqual(['second begins', 'second ends', 'first begins', 'first ends']);
});

test('a part that fails, or does not close within its time, is logged and ended, and the others still close', async () => {
  const closers = new Closers();
  const closed: string[] = [];
  const lines: object[] = [];
  const fault = new Error('no way');
  closers.add({ name: 'last', close: async () => closed.push('last'), withinMs: 60_000 });
  closers.add({ name: 'hangs', close: forever, withinMs: 1, kill: async () => void closed.push('hangs killed') });
  closers.add({ name: 'kill hangs', close: forever, withinMs: 1, kill: forever });
  closers.add({ name: 'fails', close: () => Promise.reject(fault), withinMs: 60_000 });
  expect(await closers.close(recordingLog(lines))).toBe(false);
  expect(closed).toEqual(['hangs killed', 'last']);
  expect(lines).toMatchObject([
    { part: 'fails', err: fault },
    { part: 'kill hangs', message: 'a part did not close in time and is ended' },
    { part: 'hangs', message: 'a part did not close in time and is ended' },
  ]);
});

test('all parts together have one time, of which each one that is left keeps its share', async () => {
  const closers = new Closers();
  const lines: { part?: string; waitedMs?: number }[] = [];
  for (const name of ['a', 'b', 'c']) closers.add({ name, close: forever, withinMs: 600_000 });
  expect(await closers.close(recordingLog(lines), 1_700)).toBe(false);
  // c has what b and a leave of it, and these the least that a part has.
  expect(lines).toMatchObject([{ part: 'c' }, { part: 'b' }, { part: 'a', waitedMs: 500 }]);
  expect(lines[0]?.waitedMs).toBeLessThanOrEqual(700);
});
