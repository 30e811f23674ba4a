import { expect, test } from 'vitest';
import { announceRuns, outboxQueue, sweepOutbox } from '../../src/engine/index.js';
import type { Workflows } from '../../src/platform/temporal/contract.js';
import { newId } from '../../src/shared/ids.js';
import { Refusal } from '../../src/shared/refusal.js';
import { createTestApp } from '../support/create-test-app.js';

const AWAY = new Refusal('unavailable', 'Temporal does not answer');

/** An app whose Temporal answers each call as `answer` does, and what was sent to it. */
async function outboxApp() {
  const sent: string[] = [];
  const temporal = { answer: async (_runId: string): Promise<void> => undefined };
  const send = (call: string) => (runId: string) => {
    sent.push(`${call} ${runId}`);
    return temporal.answer(runId);
  };
  const workflows = new Proxy({} as Workflows, { get: (_, call) => send(String(call)) });
  const { deps } = await createTestApp({ routes: [], deps: { workflows } });
  const { db } = deps;
  await db.query('DELETE FROM outbox');
  const insert = (runs: readonly string[], kinds: readonly string[]) =>
    db.query(
      `INSERT INTO outbox (run_id, kind, due_at) SELECT run, kind, now() - interval '5 s'
        FROM unnest($1::text[]) WITH ORDINALITY r(run, n), unnest($2::text[]) WITH ORDINALITY k(kind, m) ORDER BY n, m`,
      [runs, kinds],
    );
  const left = () =>
    db.query<{ run: string; tries: number; isPutOff: boolean }>(
      `SELECT run_id AS run, tries, due_at > created_at + interval '0.5 s' AS "isPutOff" FROM outbox ORDER BY id`,
    );
  return { deps, db, sent, temporal, insert, left };
}

function newRuns(count: number): string[] {
  return Array.from({ length: count }, () => newId());
}

test('sweeps at once send different runs, a few of each at a time, and the rows of each run in order', async () => {
  const { deps, sent, temporal, insert, left } = await outboxApp();
  const runs = newRuns(40);
  await insert(runs, ['start', 'cancel']);
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  temporal.answer = () => released;
  const sweeps = [sweepOutbox(deps), sweepOutbox(deps)];
  await expect.poll(() => sent.length).toBe(32);
  expect(new Set(sent).size).toBe(32);
  expect(sent.filter((call) => !call.startsWith('startRun '))).toEqual([]);
  release();
  await Promise.all(sweeps);
  await expect
    .poll(async () => {
      await sweepOutbox(deps);
      return left();
    })
    .toEqual([]);
  for (const run of runs) expect(sent.filter((call) => call.endsWith(run))[0]).toBe(`startRun ${run}`);
  for (const run of runs) expect(sent).toContain(`cancelRun ${run}`);
});

test('a Temporal that does not answer gets one batch, then one run a round, and everything once it answers', async () => {
  const { deps, db, sent, temporal, insert, left } = await outboxApp();
  await insert(newRuns(40), ['start']);
  temporal.answer = () => Promise.reject(AWAY);
  const queue = outboxQueue(deps);
  const { signal } = new AbortController();
  expect(queue.pauseMs?.()).toBe(0);
  await expect(queue.work(signal)).rejects.toBe(AWAY);
  expect(sent).toHaveLength(16);
  const first = queue.pauseMs?.() ?? 0;
  await expect(queue.work(signal)).rejects.toBe(AWAY);
  expect(sent).toHaveLength(17);
  const second = queue.pauseMs?.() ?? 0;
  expect([first > 0, second > first]).toEqual([true, true]);
  temporal.answer = async () => undefined;
  await db.query(`UPDATE outbox SET due_at = now() - interval '5 s'`);
  await expect
    .poll(async () => {
      await queue.work(signal);
      return left();
    })
    .toEqual([]);
  expect(queue.pauseMs?.()).toBe(0);
  expect(new Set(sent).size).toBe(40);
});

test('rows that always fail keep no later one from its turn, are not lost, and are retried ever less often', async () => {
  const { deps, db, sent, temporal, insert, left } = await outboxApp();
  const [stuck = '', whole = '', ...poison] = newRuns(202);
  await insert([stuck], Array(250).fill('event'));
  await insert(poison, ['start']);
  await insert([whole], ['start']);
  temporal.answer = async (runId) => {
    if (runId !== whole) throw new Error('poison');
  };
  // On a slow machine the first ones are due again before the last ones were tried.
  for (let rounds = 0; rounds < 20 && !sent.includes(`startRun ${whole}`); rounds += 1) await sweepOutbox(deps);
  const rows = await left();
  expect(rows).toHaveLength(450);
  expect(rows.filter(({ isPutOff }) => !isPutOff)).toEqual([]);
  const tries = (run: string) => rows.find((row) => row.run === run)?.tries ?? 0;
  expect([stuck, ...poison].filter((run) => tries(run) === 0)).toEqual([]);
  await db.query(`UPDATE outbox SET due_at = now() - interval '5 s' WHERE run_id = $1`, [stuck]);
  await sweepOutbox(deps);
  expect((await left())[0]).toEqual({ run: stuck, tries: tries(stuck) + 1, isPutOff: true });
});

test('a run’s own dispatch sends its rows at once, also those that a sweep has put off', async () => {
  const { deps, db, sent, insert, left } = await outboxApp();
  const [run = ''] = newRuns(1);
  await insert([run], ['start', 'event']);
  await db.query(`UPDATE outbox SET due_at = now() + interval '1 hour'`);
  await announceRuns(deps, [run]);
  expect(sent).toEqual([`startRun ${run}`, `signalRun ${run}`]);
  expect(await left()).toEqual([]);
});
