import { hostname } from 'node:os';
import type { Log } from '../../shared/log.js';
import type { Db, DbSession, Sql } from './contract.js';
import { sweepRows } from './sweep-rows.js';

/** The first key of the workers' advisory locks: "work" in ASCII. The second is the hash of the worker's id. */
const LOCK_CLASS = 0x776f726b;

/** A worker that holds no lock and has been silent for more than a beat and a half has ended. */
const SILENT_MS = 8_000;

/** Workers whose last beats are at most two beats apart ended together. */
const TOGETHER_MS = 10_000;

export interface WorkerEntry {
  readonly id: string;
  /** The product's version, then `+` and the build of its workflows. */
  readonly version: string;
  /** The driver that runs programs, and the reason when it refuses to run them. */
  readonly sandbox: string;
  /** The state of model endpoints that an API in the same process reports; read at every heartbeat. */
  readonly models: () => readonly object[];
}

const EVERY_MS = 5_000;

const RETRY_MS = 1_000;

const SWEEP_EVERY_MS = 3_600_000;

/** SQL: true for a row of `worker_seen` whose worker has not ended in order, and whose heartbeat is fresh. */
const MAY_LIVE = `ended_at IS NULL AND seen_at > now() - interval '15 seconds'`;

/** SQL: true for a row of `worker_seen` whose worker lives. Its beat is fresh, and it holds its lock if it has one. */
export const WORKER_LIVES = `${MAY_LIVE} AND (NOT locked OR ${lockIsHeld('worker_seen.id')})`;

interface SeenWorker {
  /** False while a worker of another build lives, by the last beat that the database answered. */
  isOnlyBuild(): boolean;
  /** Records that the worker is shutting down: work that is interrupted from now on was interrupted on purpose. */
  leave(): Promise<void>;
  close(): Promise<void>;
}

type Database = Sql & Pick<Db, 'openSession'>;

/** Writes a heartbeat every 5 s and holds the worker's lock, so that others can see whether it lives. */
export async function startWorkerHeartbeat(db: Database, entry: WorkerEntry, log: Log): Promise<SeenWorker> {
  const lock = keepLock(db, entry.id, { log, onLost: () => beatIn(0) });
  let failing = false;
  let others = 1;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  let last = Promise.resolve();
  let sweptAt = Number.NEGATIVE_INFINITY;

  async function beat(): Promise<void> {
    try {
      const isLocked = await lock.acquire();
      const seen = await see(db, { ...entry, isLocked });
      others = seen.others;
      if (isLocked && !seen.locked) await lock.drop();
      failing = false;
    } catch (error) {
      if (!failing) log.warn({ err: error }, 'worker heartbeat failed');
      failing = true;
    }
    if (!failing) await sweep();
    beatIn(failing || !lock.isHeld() ? RETRY_MS : EVERY_MS);
  }
  async function sweep(): Promise<void> {
    if (performance.now() - sweptAt < SWEEP_EVERY_MS) return;
    sweptAt = performance.now();
    await sweepWorkers(db).catch((error: unknown) =>
      log.warn({ err: error }, 'failed to delete rows of old workers, will retry'),
    );
  }
  function beatIn(ms: number): void {
    clearTimeout(timer);
    if (closed) return;
    timer = setTimeout(() => {
      last = last.then(beat);
    }, ms);
  }
  await beat();
  return {
    isOnlyBuild: () => others === 0,
    async leave() {
      await db.query('UPDATE worker_seen SET leaving_at = now() WHERE id = $1', [entry.id]).catch((error: unknown) => {
        log.warn({ err: error }, 'failed to record the shutdown of this worker');
      });
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      await last;
      try {
        await db.query('UPDATE worker_seen SET ended_at = now() WHERE id = $1', [entry.id]);
      } finally {
        await lock.drop();
      }
    },
  };
}

/** How long an answer about the builds that live is used again, in ms. */
const BUILDS_FOR_MS = 5_000;

/**
 * Whether workers live and all of them have this build, for a process without a worker. Asks the database one question
 * at a time, and none for five seconds after an answer that knows a worker. False while the database does not answer.
 */
export function watchBuilds(db: Sql, version: string, now = () => performance.now()): () => Promise<boolean> {
  let askAt = 0;
  let asked: Promise<boolean> = Promise.resolve(false);
  let isAsking = false;
  async function ask(): Promise<boolean> {
    const [row] = await db.query<{ mine: number; others: number }>({
      name: 'live-builds',
      text: `SELECT count(*) FILTER (WHERE version = $1)::int AS mine, count(*) FILTER (WHERE version <> $1)::int AS others
        FROM worker_seen WHERE ${MAY_LIVE}`,
      values: [version],
    });
    const { mine, others } = row ?? { mine: 0, others: 0 };
    if (mine + others > 0) askAt = now() + BUILDS_FOR_MS;
    return mine > 0 && others === 0;
  }
  return () => {
    if (now() >= askAt && !isAsking) {
      isAsking = true;
      asked = ask()
        .catch(() => false)
        .finally(() => {
          isAsking = false;
        });
    }
    return asked;
  };
}

interface WorkerLock {
  /** Takes the lock unless this process holds it; false when it cannot. */
  acquire(): Promise<boolean>;
  isHeld(): boolean;
  drop(): Promise<void>;
}

/** Without its lock a worker continues: then its heartbeats alone show that it lives. The failure is logged. */
function keepLock(db: Database, id: string, { log, onLost }: { log: Log; onLost: () => void }): WorkerLock {
  let session: DbSession | null = null;
  let failing = false;
  return {
    async acquire() {
      if (session !== null) return true;
      try {
        const taken = await lockWorker(db, id);
        session = taken;
        failing = false;
        void taken.ended.then(() => {
          if (session !== taken) return;
          session = null;
          onLost();
        });
        return true;
      } catch (error) {
        if (!failing) log.error({ err: error }, WITHOUT_LOCK);
        failing = true;
        return false;
      }
    },
    isHeld: () => session !== null,
    async drop() {
      const held = session;
      session = null;
      await held?.close();
    },
  };
}

const WITHOUT_LOCK =
  'failed to take the worker lock, so missed heartbeats count as its end: allow one more connection to the database';

/** Writes a heartbeat. Returns how many workers of other builds live, and whether Postgres still holds the lock. */
async function see(
  db: Sql,
  { id, version, sandbox, models, isLocked }: WorkerEntry & { readonly isLocked: boolean },
): Promise<{ readonly others: number; readonly locked: boolean }> {
  const [row] = await db.query<{ others: number; locked: boolean }>({
    name: 'worker-seen',
    text: `WITH mine AS (INSERT INTO worker_seen (id, host, pid, version, sandbox, models, locked)
             VALUES ($1, $2, $3, $4, $5, $6, $7 AND ${lockIsHeld('$1')})
             ON CONFLICT (id) DO UPDATE SET seen_at = now(), sandbox = excluded.sandbox, models = excluded.models,
               locked = excluded.locked
             RETURNING locked)
           SELECT locked, (SELECT count(*)::int FROM worker_seen
             WHERE version <> $4 AND ${MAY_LIVE}) AS others FROM mine`,
    values: [id, hostname(), process.pid, version, sandbox, JSON.stringify(models()), isLocked],
  });
  return row ?? { others: 0, locked: false };
}

/** SQL: true while a session holds the lock of the worker with that id. */
function lockIsHeld(id: string): string {
  return `EXISTS (
    SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.granted AND l.classid = ${LOCK_CLASS}
      AND l.objid = (hashtext(${id})::bigint & 4294967295)::oid
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))`;
}

/** A session that holds the worker's lock, which ends with its process. */
async function lockWorker(db: Pick<Db, 'openSession'>, id: string): Promise<DbSession> {
  const session = await db.openSession();
  try {
    const [row] = await session.query<{ locked: boolean }>({
      text: 'SELECT pg_try_advisory_lock($1, hashtext($2)) AS locked',
      values: [LOCK_CLASS, id],
    });
    if (row?.locked !== true) throw new Error('another session holds the lock of this worker');
  } catch (error) {
    await session.close();
    throw error;
  }
  return session;
}

/** SQL: a starved worker is silent and still holds its lock, so silence alone proves no end. */
function isAlive(row: 'w' | 'o'): string {
  return `(${row}.ended_at IS NULL AND (${row}.seen_at > now() - $2 * interval '1 ms' OR (${row}.locked AND ${lockIsHeld(`${row}.id`)})))`;
}

type WorkerEnd = 'alive' | 'left' | 'blocked' | 'ended-with-others' | 'died';

interface Interval {
  /** How often the worker's main thread had been blocked before. */
  readonly blocks?: number;
  /** A block that began later does not count (epoch ms). */
  readonly until?: number;
}

/**
 * How a worker ended: its main thread was blocked meanwhile (it may live, or have shut down since), it shut down on
 * request, it lives, it ended together with others that lived at the same time (the host or the network failed), or it
 * died. An unknown worker counts as dead.
 */
export async function lastOf(db: Sql, worker: string, { blocks = 0, until }: Interval = {}): Promise<WorkerEnd> {
  const [row] = await db.query<{ alive: boolean; left: boolean; blocked: boolean | null; others: number }>({
    name: 'worker-last',
    text: `SELECT ${isAlive('w')} AS alive, w.leaving_at IS NOT NULL AS left,
        w.blocks > $4 AND ($5::float8 IS NULL OR w.blocked_from < to_timestamp($5 / 1000)) AS blocked,
        (SELECT count(*)::int FROM worker_seen o WHERE o.id <> w.id AND o.leaving_at IS NULL
          AND o.started_at < w.seen_at AND w.started_at < o.seen_at
          AND o.seen_at BETWEEN w.seen_at - $3 * interval '1 ms' AND w.seen_at + $3 * interval '1 ms'
          AND NOT ${isAlive('o')}) AS others
      FROM worker_seen w WHERE w.id = $1`,
    values: [worker, SILENT_MS, TOGETHER_MS, blocks, until ?? null],
  });
  if (row === undefined) return 'died';
  if (row.blocked === true) return 'blocked';
  if (row.left) return 'left';
  if (row.alive) return 'alive';
  return row.others > 0 ? 'ended-with-others' : 'died';
}

/**
 * Deletes the rows of workers that ended long ago. Keeps the row of a worker that a retryable call names, and the rows
 * of workers that ended together with it: without them, that end would look like a crash.
 */
async function sweepWorkers(db: Sql): Promise<void> {
  await sweepRows(
    db,
    'worker_seen',
    `seen_at < now() - interval '1 day' AND NOT EXISTS (
      SELECT 1 FROM (
        SELECT c.result->>'worker' AS id FROM run r JOIN call c ON c.run_id = r.id
          WHERE r.finished_at IS NULL AND c.state = 'started'
        UNION SELECT judge_call->>'worker' FROM eval_attempt WHERE state = 'running') named
      JOIN worker_seen n ON n.id = named.id
      WHERE n.seen_at BETWEEN worker_seen.seen_at - $1 * interval '1 ms' AND worker_seen.seen_at + $1 * interval '1 ms')`,
    [TOGETHER_MS],
  );
}
