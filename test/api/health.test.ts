import { afterEach, expect, test } from 'vitest';
import { createApp } from '../../src/api/app.js';
import type { Deps } from '../../src/deps.js';
import type { DbSession } from '../../src/platform/db/contract.js';
import { createDb, type Db, startWorkerHeartbeat } from '../../src/platform/db/index.js';
import { newId } from '../../src/shared/ids.js';
import { createTestApp, createTestDeps } from '../support/create-test-app.js';
import { endsWithin } from '../support/in-time.js';
import { startPausableProxy } from '../support/pausable-proxy.js';
import { testDatabase } from '../support/postgres.js';
import { silentLog } from '../support/silent-log.js';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const hanging = new Promise<never>(() => undefined);
const parts = { models: { failing: () => [] }, sandbox: { driver: 'bubblewrap', reason: null } };
const withTemporal = (ping: () => Promise<boolean>) => ({ ...parts, workflows: { ping } }) as unknown as Partial<Deps>;
const up = withTemporal(async () => true);

function dbAt(port: number): Db {
  const url = new URL(testDatabase());
  url.port = String(port);
  const db = createDb({ url: url.href, ca: null, poolSize: 2, log: silentLog });
  ends.push(() => db.close());
  return db;
}

async function proxiedDb() {
  const target = new URL(testDatabase());
  const proxy = await startPausableProxy({ host: target.hostname, port: Number(target.port) });
  const db = dbAt(proxy.port);
  // The last to end what the pool still holds: a connection that hangs can only be cut.
  ends.unshift(() => proxy.close());
  return { proxy, db };
}

/** What the promise of 2 s is about: an answer that comes within them. */
async function soon<T>(work: Promise<T>): Promise<T> {
  expect(await endsWithin(2_000, work)).toBe(true);
  return work;
}

test('health is open, and names each part', async () => {
  const { get } = await createTestApp({ deps: up });
  const response = await get('/api/healthz', { as: null });
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({
    ok: true,
    version: '0.0.0-test',
    role: 'all',
    workerAlive: expect.any(Boolean),
    database: 'ok',
    redis: 'off',
    temporal: 'ok',
    circuits: [],
    models: [],
    sandbox: { driver: 'bubblewrap', reason: null },
  });
});

test('a worker is alive when it was seen in the last 15 seconds', async () => {
  const { get, deps } = await createTestApp({ deps: up });
  const alive = async () => ((await (await get('/api/healthz')).json()) as { workerAlive: boolean }).workerAlive;
  const id = newId();
  await deps.db.query('DELETE FROM worker_seen');
  expect(await alive()).toBe(false);
  await deps.db.query(`INSERT INTO worker_seen (id, host, pid, version, sandbox) VALUES ($1, 'h', 1, '0', 'none')`, [
    id,
  ]);
  expect(await alive()).toBe(true);
  await deps.db.query(`UPDATE worker_seen SET seen_at = now() - interval '16 seconds' WHERE id = $1`, [id]);
  expect(await alive()).toBe(false);
});

test('a worker whose process has died is not alive, however fresh its row', async () => {
  const { get, deps } = await createTestApp({ deps: up });
  const alive = async () => ((await (await get('/api/healthz')).json()) as { workerAlive: boolean }).workerAlive;
  await deps.db.query('DELETE FROM worker_seen');
  const entry = { id: newId(), version: '1', sandbox: 'none', models: () => [] };
  let isDead = false;
  const sessions: DbSession[] = [];
  const openSession = async () => {
    if (isDead) throw new Error('this process is dead');
    const session = await deps.db.openSession();
    sessions.push(session);
    return session;
  };
  const query: Db['query'] = async (text, values) => {
    if (isDead) throw new Error('this process is dead');
    return deps.db.query(text, values);
  };
  const worker = await startWorkerHeartbeat({ query, openSession }, entry, silentLog);
  expect(await alive()).toBe(true);

  // A session that was cut while the worker lives is made again.
  const cut = sessions[0];
  await cut?.query('SELECT pg_terminate_backend(pg_backend_pid())').catch(() => undefined);
  await cut?.ended;
  await expect.poll(alive).toBe(true);

  // What the system does when a process is killed: its connections end, and nothing of its own runs any more.
  isDead = true;
  await sessions.at(-1)?.close();
  await deps.db.query('UPDATE worker_seen SET seen_at = now()');
  expect(await alive()).toBe(false);
  isDead = false;
  await expect.poll(alive).toBe(true);
  await worker.close();
  expect(await alive()).toBe(false);
});

const at = (time: string) => Date.parse(`2030-01-01T${time}Z`);
const failing = (endpoint: string, more: object = {}) => ({
  endpoint,
  open: false,
  since: at('00:00:10'),
  until: null,
  lastError: 'answered 503',
  ...more,
});

test('endpoints of models that fail are named with since when and why, open circuits with the time until which they are', async () => {
  const until = at('00:01:00');
  const models = { failing: () => [failing('openai', { open: true, until }), failing('google')] };
  const { get } = await createTestApp({ deps: { ...up, models } as unknown as Partial<Deps> });
  const since = '2030-01-01T00:00:10.000Z';
  expect(await (await get('/api/healthz')).json()).toMatchObject({
    circuits: [{ provider: 'openai', until: '2030-01-01T00:01:00.000Z' }],
    models: [
      { endpoint: 'openai', open: true, since, lastError: 'answered 503' },
      { endpoint: 'google', open: false, since, lastError: 'answered 503' },
    ],
  });
});

test('an API on its own tells what its workers know of the endpoints, once each', async () => {
  const { get, deps } = await createTestApp({ deps: up });
  const see = async (...models: object[]) =>
    deps.db.query(
      `INSERT INTO worker_seen (id, host, pid, version, sandbox, models) VALUES ($1, 'h', 1, '0', 'none', $2::jsonb)`,
      [newId(), JSON.stringify(models)],
    );
  await deps.db.query('DELETE FROM worker_seen');
  await see(failing('openai', { open: true, until: at('00:02:00'), lastError: 'answered 529' }));
  await see(failing('openai', { since: at('00:00:05') }), failing('google'));
  const health = (await (await get('/api/healthz')).json()) as { circuits: object[]; models: object[] };
  await deps.db.query('DELETE FROM worker_seen');
  expect(health.circuits).toEqual([{ provider: 'openai', until: '2030-01-01T00:02:00.000Z' }]);
  expect(health.models).toEqual([
    { endpoint: 'openai', open: true, since: '2030-01-01T00:00:05.000Z', lastError: 'answered 529' },
    { endpoint: 'google', open: false, since: '2030-01-01T00:00:10.000Z', lastError: 'answered 503' },
  ]);
});

test('a Temporal that hangs or throws is down, within 2 s, and the rest is as it is', async () => {
  for (const ping of [() => hanging, () => Promise.reject(new Error('gone'))]) {
    const { get } = await createTestApp({ deps: withTemporal(ping) });
    const response = await soon(get('/api/healthz', { as: null }));
    expect([response.status, await response.json()]).toEqual([
      200,
      expect.objectContaining({ ok: false, temporal: 'down', database: 'ok' }),
    ]);
  }
});

test('security 1: with nobody at Postgres’s port health is 200 and says so, and the rest is 503 with Retry-After, within 2 s', async () => {
  const { key } = await createTestApp();
  const down = await appOn(dbAt(1));
  const health = await soon(down('/api/healthz', null));
  expect([health.status, await health.json()]).toEqual([
    200,
    expect.objectContaining({ ok: false, database: 'down', workerAlive: false }),
  ]);
  const me = await soon(down('/api/me', key));
  expect([me.status, Number(me.headers.get('retry-after')) > 0]).toEqual([503, true]);
});

test('security 1: with a Postgres that hangs on living connections the same is true, and it recovers by itself', async () => {
  const { key } = await createTestApp();
  const { proxy, db } = await proxiedDb();
  const call = await appOn(db);
  expect((await call('/api/me', key)).status).toBe(200);
  proxy.pause();
  const [health, me] = await Promise.all([soon(call('/api/healthz', null)), soon(call('/api/me', key))]);
  expect([health.status, await health.json()]).toEqual([200, expect.objectContaining({ database: 'down' })]);
  expect([me.status, me.headers.get('retry-after')]).toEqual([503, '5']);
  proxy.resume();
  await expect.poll(async () => (await call('/api/me', key)).status).toBe(200);
});

/** An app on that database; its tenant is in the real one. */
async function appOn(db: Db): Promise<(path: string, key: string | null) => Promise<Response>> {
  const app = createApp({ ...(await createTestDeps({ deps: up })), db });
  return async (path, key) => app.request(path, key === null ? {} : { headers: { Authorization: `Bearer ${key}` } });
}
