import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { DbSession } from '../../src/platform/db/contract.js';
import {
  createDb,
  type Db,
  lastOf,
  startWorkerHeartbeat,
  WORKER_LIVES,
  watchBuilds,
} from '../../src/platform/db/index.js';
import { newId } from '../../src/shared/ids.js';
import { createTestApp, type TestApp } from '../support/create-test-app.js';
import { freshDatabase } from '../support/postgres.js';
import { recordingLog } from '../support/recording-log.js';
import { silentLog } from '../support/silent-log.js';

let app: TestApp;
let db: Db;
let end: () => Promise<void>;
beforeAll(async () => {
  const { url, drop } = await freshDatabase();
  db = createDb({ url, ca: null, poolSize: 5, log: silentLog });
  end = async () => {
    await db.close();
    await drop();
  };
  app = await createTestApp({ deps: { db } });
});
afterAll(() => end());
beforeEach(() => db.query('DELETE FROM worker_seen'));

const entryOf = (id: string, version = '1') => ({ id, version, sandbox: 'none', models: () => [] });
const silentFor = (id: string, seconds: number) =>
  db.query(
    `UPDATE worker_seen SET seen_at = now() - $2 * interval '1 s', started_at = now() - interval '1 day'
    WHERE id = $1`,
    [id, seconds],
  );
const isAlive = async (id: string) =>
  (await db.query(`SELECT 1 FROM worker_seen WHERE id = $1 AND ${WORKER_LIVES}`, [id])).length === 1;

interface Life {
  /** Seconds ago. */
  readonly started: number;
  readonly seen: number;
  readonly left?: boolean;
}

async function lived({ started, seen, left = false }: Life): Promise<string> {
  const id = newId();
  await db.query(
    `INSERT INTO worker_seen (id, host, pid, version, sandbox, started_at, seen_at, leaving_at)
      VALUES ($1, 'h', 1, 'v', 'none', now() - $2 * interval '1 s', now() - $3 * interval '1 s', CASE WHEN $4 THEN now() END)`,
    [id, started, seen, left],
  );
  return id;
}

test('a worker that ended in order left, is not alive, and hinders no later build', async () => {
  const id = newId();
  const worker = await startWorkerHeartbeat(db, entryOf(id), silentLog);
  expect(await isAlive(id)).toBe(true);
  await worker.leave();
  await worker.close();
  expect([await isAlive(id), await lastOf(db, id)]).toEqual([false, 'left']);
  const next = await startWorkerHeartbeat(db, entryOf(newId(), '2'), silentLog);
  expect(next.isOnlyBuild()).toBe(true);
  await next.close();
});

test('a worker that ended because of an error was not told to leave: it died', async () => {
  const id = newId();
  const worker = await startWorkerHeartbeat(db, entryOf(id), silentLog);
  await worker.close();
  expect([await isAlive(id), await lastOf(db, id)]).toEqual([false, 'died']);
});

test('a worker that is silent and holds its lock is starved, and has not died', async () => {
  const id = newId();
  const sessions: DbSession[] = [];
  let isKilled = false;
  const openSession = async () => {
    if (isKilled) throw new Error('this process was killed');
    const session = await db.openSession();
    sessions.push(session);
    return session;
  };
  let isStarved = false;
  const query: Db['query'] = (text, values) =>
    isStarved ? new Promise<never>(() => undefined) : db.query(text, values);
  await startWorkerHeartbeat({ query, openSession }, entryOf(id), silentLog);
  isStarved = true;
  await silentFor(id, 60);
  expect(await lastOf(db, id)).toBe('alive');
  // Health promises a worker that takes runs up, and this one does not.
  expect(await isAlive(id)).toBe(false);
  isKilled = true;
  await sessions[0]?.close();
  await expect.poll(() => lastOf(db, id)).toBe('died');
});

test.each<[string, Life, Life, 'died' | 'ended-with-others']>([
  [
    'two that lived at once and went silent together',
    { started: 500, seen: 60 },
    { started: 900, seen: 63 },
    'ended-with-others',
  ],
  ['two lives of one service, one after the other', { started: 500, seen: 66 }, { started: 63, seen: 60 }, 'died'],
  [
    'two that lived at once and went silent a minute apart',
    { started: 500, seen: 120 },
    { started: 500, seen: 60 },
    'died',
  ],
  [
    'one beside a worker that was told to leave',
    { started: 500, seen: 60 },
    { started: 500, seen: 60, left: true },
    'died',
  ],
  ['one beside a worker that lives', { started: 500, seen: 9 }, { started: 500, seen: 1 }, 'died'],
])('%s', async (_name, one, other, end) => {
  const worker = await lived(one);
  await lived(other);
  expect(await lastOf(db, worker)).toBe(end);
});

test('a worker that holds its lock did not end together with one that died', async () => {
  const starved = newId();
  const session = await startWorkerHeartbeat(db, entryOf(starved), silentLog);
  await silentFor(starved, 60);
  expect(await lastOf(db, await lived({ started: 500, seen: 60 }))).toBe('died');
  await session.close();
});

test('a worker that cannot get its lock still writes its beats, and the log says what is wrong', async () => {
  const id = newId();
  const lines: Record<string, unknown>[] = [];
  let isFull = true;
  const openSession = async () => {
    if (isFull) throw new Error('sorry, too many clients already');
    return db.openSession();
  };
  const worker = await startWorkerHeartbeat({ query: db.query, openSession }, entryOf(id), recordingLog(lines));
  expect(await isAlive(id)).toBe(true);
  const firstBeat = async () =>
    (await db.query<{ at: Date }>('SELECT seen_at AS at FROM worker_seen'))[0]?.at.getTime();
  const before = (await firstBeat()) ?? 0;
  await expect.poll(firstBeat).toBeGreaterThan(before);
  // Said once, however often it is tried.
  expect(lines).toHaveLength(1);
  expect(JSON.stringify(lines)).toContain('failed to take the worker lock');
  // Without a lock its silence is all that says that it ended.
  await silentFor(id, 0);
  isFull = false;
  const locked = async () => (await db.query('SELECT locked FROM worker_seen'))[0];
  await expect.poll(locked).toEqual({ locked: true });
  await worker.close();
  expect(await isAlive(id)).toBe(false);
});

test('a lock that another session holds is named, and health follows the beats', async () => {
  const id = newId();
  const lines: Record<string, unknown>[] = [];
  const stale = await startWorkerHeartbeat(db, entryOf(id), silentLog);
  const worker = await startWorkerHeartbeat(db, entryOf(id), recordingLog(lines));
  expect(JSON.stringify(lines)).toContain('failed to take the worker lock');
  expect(await isAlive(id)).toBe(true);
  await worker.close();
  expect(await isAlive(id)).toBe(false);
  await stale.close();
});

test('the row of a worker stays while a call names it or its neighbour, and goes a day after that', async () => {
  const days = 3 * 86_400;
  const named = await lived({ started: days + 500, seen: days, left: true });
  const neighbour = await lived({ started: days + 500, seen: days + 3 });
  const judged = await lived({ started: 2 * days + 500, seen: 2 * days });
  const old = await lived({ started: days + 500, seen: days + 500 });
  const runId = await insertRun(named);
  await db.query(
    `INSERT INTO eval_attempt (eval_run_id, k, case_no, repeat, state, judge_call) VALUES ($1, 0, 0, 1, 'running', $2::jsonb)`,
    [await insertEval(), JSON.stringify({ number: 0, worker: judged })],
  );
  const sweep = async () => {
    const worker = await startWorkerHeartbeat(db, entryOf(newId()), silentLog);
    await worker.close();
    const rows = await db.query<{ id: string }>(`SELECT id FROM worker_seen WHERE seen_at < now() - interval '1 day'`);
    return rows.map(({ id }) => id).sort();
  };
  expect(await sweep()).toEqual([named, neighbour, judged].sort());
  expect(await sweep()).not.toContain(old);
  await db.query('UPDATE run SET finished_at = now() WHERE id = $1', [runId]);
  await db.query(`UPDATE eval_attempt SET state = 'graded'`);
  expect(await sweep()).toEqual([]);
});

async function insertRun(worker: string): Promise<string> {
  const id = newId();
  await db.query(
    `INSERT INTO run (id, tenant_id, workspace_id, flow, plan_id, revision, root_id, trigger)
      VALUES ($1, $2, 'w', 'flows/f', 'p', 'r', $1, '{}')`,
    [id, app.tenant],
  );
  await db.query(
    `INSERT INTO call (run_id, step, item, round, attempt, epoch, turn, call, lane, kind, name, acts, state, fence, result)
      VALUES ($1, 'one', 0, 1, 1, 0, 0, 1, 'main', 'tool', 't', false, 'started', 1, $2::jsonb)`,
    [id, JSON.stringify({ worker })],
  );
  return id;
}

async function insertEval(): Promise<string> {
  const id = newId();
  await db.query(
    `INSERT INTO eval_run (id, tenant_id, workspace_id, eval, plan_id, revision, trigger, started_by, spec)
      VALUES ($1, $2, 'w', 'evals/e', 'p', 'r', 'manual', '{}', '{}')`,
    [id, app.tenant],
  );
  return id;
}

test('a process without a worker knows whether all workers that live have its build, within five seconds', async () => {
  let nowMs = 0;
  const isOnlyBuild = watchBuilds(db, '1', () => nowMs);
  expect(await isOnlyBuild()).toBe(false);
  const mine = await startWorkerHeartbeat(db, entryOf(newId()), silentLog);
  expect(await isOnlyBuild()).toBe(true);
  const other = await startWorkerHeartbeat(db, entryOf(newId(), '2'), silentLog);
  nowMs += 5_000;
  expect(await isOnlyBuild()).toBe(false);
  await other.close();
  nowMs += 4_999;
  expect(await isOnlyBuild()).toBe(false);
  nowMs += 1;
  expect(await isOnlyBuild()).toBe(true);
  await mine.close();
});

test('while the database does not answer, a process without a worker takes no build for the only one', async () => {
  const query = () => Promise.reject(new Error('away'));
  expect(await watchBuilds({ ...db, query }, '1')()).toBe(false);
});
