import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createApp } from '../../src/api/app.js';
import { routes } from '../../src/api/routes/index.js';
import { toDatabaseError } from '../../src/platform/db/errors.js';
import { createDb, DatabaseBusy, DatabaseUnavailable, type Db } from '../../src/platform/db/index.js';
import { createTestApp, createTestDeps, type TestApp } from '../support/create-test-app.js';
import { type PausableProxy, startPausableProxy } from '../support/pausable-proxy.js';
import { testDatabase } from '../support/postgres.js';
import { silentLog } from '../support/silent-log.js';

const OVERLOADED = {
  error: 'the service is overloaded; try again in a few seconds',
  code: 'overloaded',
  retryAfter: 2,
};

let proxy: PausableProxy;
let behind: string;
let app: TestApp;
beforeAll(async () => {
  const url = new URL(testDatabase());
  proxy = await startPausableProxy({ host: url.hostname, port: Number(url.port) });
  url.port = String(proxy.port);
  behind = url.href;
  app = await createTestApp();
});
afterEach(() => proxy.resume());
afterAll(() => proxy.close());

/** The API over a database of its own, and a request of it with the key of the app. */
async function apiOver(db: Db) {
  const deps = await createTestDeps({ deps: { db } });
  const api = createApp(deps, routes);
  return async (path: string, init: RequestInit = {}): Promise<Response> =>
    api.request(path, { ...init, headers: { authorization: `Bearer ${app.key}`, ...init.headers } });
}

/** Takes all connections of the pool, with queries that the database answers, until what it answers is called. */
async function keepBusy(db: Db, connections: number): Promise<() => Promise<unknown>> {
  let busy = true;
  let taken = 0;
  const all = Array.from({ length: connections }, () =>
    db.transaction(async (sql) => {
      taken += 1;
      while (busy) await sql.query('SELECT pg_sleep(0.05)');
    }),
  );
  await expect.poll(() => taken).toBe(connections);
  return () => {
    busy = false;
    return Promise.all(all);
  };
}

test('a database whose connections are all at work is told as overload, and one that is silent as one that does not answer', async () => {
  const db = createDb({ url: behind, ca: null, poolSize: 2, log: silentLog });
  const get = await apiOver(db);
  expect((await get('/api/me')).status).toBe(200);
  const release = await keepBusy(db, 2);
  const refused = async () => {
    const response = await get('/api/me');
    return [response.status, response.headers.get('retry-after'), await response.json()];
  };
  await expect.poll(refused).toEqual([503, '2', OVERLOADED]);
  await release();
  await expect.poll(async () => (await get('/api/me')).status).toBe(200);
  proxy.pause();
  // What it said last is still fresh for a moment.
  await expect
    .poll(async () => (await get('/api/me')).json())
    .toEqual({
      error: 'the database does not answer; try again in a few seconds',
      code: 'unavailable',
      retryAfter: 5,
    });
  proxy.resume();
  await expect.poll(async () => (await get('/api/me')).status).toBe(200);
  await db.close();
});

test('a query that waited in vain for its turn is overload, by SQL and by Prisma', async () => {
  const db = createDb({ url: behind, ca: null, poolSize: 1, queueTimeoutMs: 2_000, log: silentLog });
  const release = await keepBusy(db, 1);
  await expect(db.query('SELECT 1')).rejects.toBeInstanceOf(DatabaseBusy);
  await expect(db.transaction((sql) => sql.query('SELECT 1'))).rejects.toBeInstanceOf(DatabaseBusy);
  await expect(db.prisma.tenant.findFirst()).rejects.toBeInstanceOf(DatabaseBusy);
  await expect(db.query('SELECT 1')).rejects.toMatchObject({
    kind: 'unavailable',
    details: { code: 'overloaded', retryAfter: 2 },
  });
  await release();
  expect(await db.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  await db.close();
});

test('Postgres that takes no more connections is overload', () => {
  const error = Object.assign(new Error('sorry, too many clients already'), { code: '53300' });
  expect(toDatabaseError(error)).toBeInstanceOf(DatabaseBusy);
});

/** The database with another pressure; it counts what it is asked. */
function pressed(waitedMs: number, lastAnswerMsAgo: number): { readonly db: Db; asked(): number } {
  let asked = 0;
  const { db } = app.deps;
  const counting: Db = {
    ...db,
    pressure: () => ({ waitedMs, lastAnswerMsAgo }),
    query: (...given) => {
      asked += 1;
      return db.query(...given);
    },
    transaction: (work) => {
      asked += 1;
      return db.transaction(work);
    },
  };
  return { db: counting, asked: () => asked };
}

test('while others wait for a second, requests are refused before the database is asked; health is not', async () => {
  const { db, asked } = pressed(1_000, 0);
  const get = await apiOver(db);
  const sent: readonly [string, RequestInit][] = [
    ['/api/me', {}],
    ['/api/workspaces', { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }],
    ['/api/auth/login', { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }],
    [`/api/hooks/${app.tenant}/x/y?token=z`, { method: 'POST', body: '{}' }],
    [`/git/${app.tenant}/x.git/info/refs?service=git-upload-pack`, {}],
  ];
  for (const [path, init] of sent) {
    const response = await get(path, init);
    expect([path, response.status, response.headers.get('retry-after')]).toEqual([path, 503, '2']);
    expect(await response.json()).toEqual(OVERLOADED);
  }
  expect(asked()).toBe(0);
  for (const path of ['/docs/openapi.json', '/']) expect((await get(path)).status).toBe(200);
});

test('who waits less than that, or on a database that is silent, is served as ever', async () => {
  for (const [waitedMs, lastAnswerMsAgo] of [
    [999, 0],
    [5_000, 5_000],
  ] as const) {
    const get = await apiOver(pressed(waitedMs, lastAnswerMsAgo).db);
    expect((await get('/api/me')).status).toBe(200);
  }
});

test('the two are of one kind for those who try again later', () => {
  expect(new DatabaseBusy(null)).toBeInstanceOf(DatabaseUnavailable);
});
