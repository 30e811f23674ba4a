import { expect, onTestFinished, test } from 'vitest';
import { EVENT_CHANNEL, notifyStreams } from '../../src/engine/index.js';
import { createDb, QUEUE_CHANNEL, type Queue, startQueues } from '../../src/platform/db/index.js';
import { newId } from '../../src/shared/ids.js';
import { createTenant, createTestApp } from '../support/create-test-app.js';
import { testDatabase } from '../support/postgres.js';
import { silentLog } from '../support/silent-log.js';
import { insertWorkspace } from '../support/workspace-row.js';

const NEVER = 'SELECT NULL::timestamptz';

function openDb() {
  const db = createDb({ url: testDatabase(), ca: null, poolSize: 4, log: silentLog });
  onTestFinished(() => db.close());
  return db;
}

test('a notification wakes the queue that it names, and no other', async () => {
  const db = openDb();
  const rounds = { burst: 0, event: 0 };
  const queue = (name: keyof typeof rounds): Queue => ({
    nextDue: NEVER,
    work: async () => {
      rounds[name] += 1;
      return 0;
    },
  });
  const queues = startQueues({ db, log: silentLog }, { burst: queue('burst'), event: queue('event') });
  // The first ones may come before the process listens.
  await expect
    .poll(async () => {
      await db.notify(QUEUE_CHANNEL, 'burst');
      return rounds.burst;
    })
    .toBeGreaterThan(1);
  expect(rounds.event).toBe(0);
  await queues.close();
});

test('a row that is due is worked off without a notification, and not before its time', async () => {
  const db = openDb();
  const [row] = await db.query<{ at: Date }>(`SELECT now() + interval '300 ms' AS at`);
  const at = row?.at.toISOString();
  const lateMs: number[] = [];
  const queues = startQueues(
    { db, log: silentLog },
    {
      burst: {
        nextDue: `SELECT timestamptz '${at}'`,
        work: async () => {
          const [now] = await db.query<{ ms: number }>(
            'SELECT (extract(epoch FROM clock_timestamp() - $1::timestamptz) * 1000)::float8 AS ms',
            [at],
          );
          return lateMs.push(now?.ms ?? -1);
        },
      },
    },
  );
  await expect.poll(() => lateMs.length).toBeGreaterThan(0);
  expect(lateMs.filter((ms) => ms < 0)).toEqual([]);
  await queues.close();
});

test('a queue that fails is retried, is logged once, and keeps no other from its rows', async () => {
  const db = openDb();
  const logged: string[] = [];
  const log = { ...silentLog, warn: (_: object, text: string) => void logged.push(text) };
  let [tries, rounds] = [0, 0];
  const queues = startQueues(
    { db, log },
    {
      burst: {
        nextDue: `SELECT now() - interval '1 s'`,
        work: async () => {
          tries += 1;
          throw new Error('broken');
        },
      },
      event: {
        nextDue: `SELECT now() - interval '1 s'`,
        work: async () => {
          rounds += 1;
          return 1;
        },
      },
    },
  );
  await expect.poll(() => [tries > 2, rounds > 2]).toEqual([true, true]);
  await queues.close();
  expect(logged).toEqual(['queue failed, will retry']);
});

test('a queue that failed rests for as long as it asks, and keeps no other from its rows', async () => {
  const db = openDb();
  let [tries, rounds] = [0, 0];
  const nextDue = `SELECT now() - interval '1 s'`;
  const queues = startQueues(
    { db, log: silentLog },
    {
      outbox: {
        nextDue,
        work: async () => {
          tries += 1;
          throw new Error('away');
        },
        pauseMs: () => (tries < 2 ? 0 : 3_600_000),
      },
      event: { nextDue, work: async () => ++rounds },
    },
  );
  await expect.poll(() => tries).toBe(2);
  const since = rounds;
  await expect.poll(() => rounds).toBeGreaterThan(since + 10);
  expect(tries).toBe(2);
  await queues.close();
});

test('the end waits for the rounds, then for the work that they started', async () => {
  const db = openDb();
  const steps: string[] = [];
  let release: () => void = () => undefined;
  const queues = startQueues(
    { db, log: silentLog },
    {
      mirror: {
        nextDue: `SELECT now() - interval '1 s'`,
        work: async () => {
          steps.push('round');
          await new Promise<void>((resolve) => {
            release = resolve;
          });
          steps.push('round over');
          return 1;
        },
        end: async () => void steps.push('end'),
      },
    },
  );
  await expect.poll(() => steps).toEqual(['round']);
  const closed = queues.close();
  await db.query('SELECT 1');
  expect(steps).toEqual(['round']);
  release();
  await closed;
  expect(steps).toEqual(['round', 'round over', 'end']);
});

test('a queue whose round hangs keeps no other from its end, and no round starts while one is awaited', async () => {
  const db = openDb();
  const steps: string[] = [];
  const releases: (() => void)[] = [];
  const hang = () => new Promise<void>((resolve) => void releases.push(resolve));
  let rounds = 0;
  const queues = startQueues(
    { db, log: silentLog },
    {
      outbox: {
        nextDue: `SELECT now() - interval '1 s'`,
        work: async (signal) => {
          signal.addEventListener('abort', () => steps.push('outbox stopped'));
          await hang();
          return 1;
        },
        end: async () => void steps.push('outbox ended'),
      },
      mirror: {
        nextDue: `SELECT now() - interval '1 s'`,
        work: async (signal) => {
          rounds += 1;
          if (rounds === 1) signal.addEventListener('abort', () => steps.push('mirror stopped'));
          return 1;
        },
        end: async () => void steps.push('mirror ended'),
        sweep: { everyMs: 1, run: hang },
      },
    },
  );
  await expect.poll(() => [releases.length, rounds > 0]).toEqual([2, true]);
  const closed = queues.close();
  const before = rounds;
  await expect.poll(() => steps).toContain('mirror ended');
  expect(steps).toHaveLength(3);
  // Longer than the pause between two rounds.
  await db.query('SELECT pg_sleep(0.5)');
  expect(rounds).toBe(before);
  for (const release of releases) release();
  await closed;
  expect(steps).toEqual(['outbox stopped', 'mirror stopped', 'mirror ended', 'outbox ended']);
});

test('a row that is committed wakes its queue; one of a run leaves that to the run’s own notification', async () => {
  const { deps } = await createTestApp({ routes: [] });
  const { tenant } = await createTenant(deps);
  const workspace = await insertWorkspace(deps, tenant, 'shop');
  const heard: string[] = [];
  onTestFinished(deps.db.listen(QUEUE_CHANNEL, (name) => void heard.push(name)));
  const insert = (text: string, ...values: unknown[]) => deps.db.query(text, values);
  const notice = 'INSERT INTO notice (tenant_id, run_id, event, data) VALUES ($1, $2, $3, $4)';
  // The first ones may come before the process listens.
  await expect
    .poll(async () => {
      await deps.db.notify(QUEUE_CHANNEL, 'ready');
      return heard;
    })
    .toContain('ready');
  await insert(notice, tenant, null, 'connection.expired', {});
  await insert(notice, tenant, newId(), 'run.completed', {});
  const raised = 'INSERT INTO raised_event (workspace_id, kind, body) VALUES ($1, $2, $3)';
  await insert(raised, workspace, 'run.completed', {});
  await insert(raised, workspace, 'deploy.applied', {});
  const burst = `INSERT INTO burst (id, workspace_id, flow, key, kind, input, trigger, due_at) VALUES ($1, $2, 'f', 'k', 'webhook', '{}', '{}', now())
    ON CONFLICT (workspace_id, flow, key) DO UPDATE SET count = burst.count + 1`;
  await insert(burst, newId(), workspace);
  await insert(burst, newId(), workspace);
  await insert('INSERT INTO code_push (id, workspace_id) VALUES ($1, $2)', newId(), workspace);
  await insert('INSERT INTO mirror (workspace_id, url) VALUES ($1, $2)', workspace, 'https://x.example/r.git');
  await insert('UPDATE mirror SET done = wanted WHERE workspace_id = $1', workspace);
  await insert('UPDATE mirror SET wanted = wanted + 1 WHERE workspace_id = $1', workspace);
  await expect
    .poll(() => heard.filter((name) => name !== 'ready'))
    .toEqual(['notice', 'event', 'burst', 'push', 'mirror', 'mirror']);
});

test('the notification of a run wakes the queues of rows that are due, and none for rows that are put off', async () => {
  const { deps } = await createTestApp({ routes: [], deps: { db: openDb() } });
  const { tenant } = await createTenant(deps);
  const workspace = await insertWorkspace(deps, tenant, 'shop');
  await deps.db.query('DELETE FROM notice');
  await deps.db.query('DELETE FROM raised_event');
  const heard: string[] = [];
  const hear = (name: string) => void heard.push(name);
  onTestFinished(deps.db.listen(QUEUE_CHANNEL, hear));
  onTestFinished(deps.db.listen(EVENT_CHANNEL, hear));
  const notified = async () => {
    const run = newId();
    heard.length = 0;
    // The first ones may come before the process listens.
    await expect
      .poll(async () => {
        notifyStreams(deps, run, true);
        return heard;
      })
      .toContain(run);
    // It comes after all that was notified with the run.
    await deps.db.notify(QUEUE_CHANNEL, 'end');
    await expect.poll(() => heard).toContain('end');
    return [...new Set(heard)].filter((name) => ['notice', 'event'].includes(name)).sort();
  };
  const due = (at: string) => [
    deps.db.query(
      `INSERT INTO notice (tenant_id, run_id, event, data, due_at) VALUES ($1, $2, 'run.completed', '{}', ${at})`,
      [tenant, newId()],
    ),
    deps.db.query(
      `INSERT INTO raised_event (workspace_id, kind, body, due_at) VALUES ($1, 'run.completed', '{}', ${at})`,
      [workspace],
    ),
  ];
  await Promise.all(due(`now() + interval '1 hour'`));
  expect(await notified()).toEqual([]);
  await Promise.all(due('now()'));
  expect(await notified()).toEqual(['event', 'notice']);
});
