import { hostname } from 'node:os';
import type { Log } from '../shared/log.js';
import type { Db, DbSession, Sql } from './contract.js';

export interface WorkerEntry {
  readonly id: string;
  /** Of the product, then `+` and the build of its workflows. */
  readonly version: string;
  /** The driver that programs run under, and why they are refused when they are. */
  readonly sandbox: string;
  /** What an API beside it tells of its models' endpoints: asked at every beat. */
  readonly models: () => readonly object[];
}

const EVERY_MS = 5_000;
const RETRY_MS = 1_000;

/** The first key of the workers' advisory locks: "work" in ASCII. The second is the hash of the worker's id. */
const LOCK_CLASS = 0x776f726b;

/**
 * True for a row of `worker_seen` whose worker lives: its beat is fresh, and it holds its lock, which ends with its
 * process.
 */
export const WORKER_LIVES = `seen_at > now() - interval '15 seconds' AND (NOT locked OR EXISTS (
  SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.granted AND l.classid = ${LOCK_CLASS}
    AND l.objid = (hashtext(worker_seen.id)::bigint & 4294967295)::oid
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())))`;

export interface SeenWorker {
  /** False while a worker of another build lives, by the last beat that the database answered. */
  isOnlyBuild(): boolean;
  /** Says that it was told to end: what is cut in it from now on was cut on purpose. */
  leave(): Promise<void>;
  close(): Promise<void>;
}

type Database = Sql & Pick<Db, 'openSession'>;

/** Says every 5 s that this worker lives, so that others can tell, and holds its lock; takes its row back at the end. */
export async function keepWorkerSeen(db: Database, entry: WorkerEntry, log: Log): Promise<SeenWorker> {
  let failing = false;
  let others = 1;
  let session: DbSession | null = null;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  let last = Promise.resolve();

  async function beat(): Promise<void> {
    try {
      session ??= await lockWorker(db, entry.id, () => {
        session = null;
        beatIn(0);
      });
      others = await see(db, entry);
      failing = false;
    } catch (error) {
      if (!failing) log.warn({ err: error }, 'this worker cannot say that it lives');
      failing = true;
    }
    beatIn(failing ? RETRY_MS : EVERY_MS);
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
        log.warn({ err: error }, 'this worker cannot say that it ends');
      });
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      await last;
      await db.query('DELETE FROM worker_seen WHERE id = $1', [entry.id]);
      await session?.close();
    },
  };
}

/** A session that holds the worker's lock. `onLost` is called when it ends. */
async function lockWorker(db: Database, id: string, onLost: () => void): Promise<DbSession> {
  const session = await db.openSession();
  try {
    const [row] = await session.query<{ locked: boolean }>({
      text: 'SELECT pg_try_advisory_lock($1, hashtext($2)) AS locked',
      values: [LOCK_CLASS, id],
    });
    if (row?.locked !== true) throw new Error('the lock of this worker is held by another session');
  } catch (error) {
    await session.close();
    throw error;
  }
  void session.ended.then(onLost);
  return session;
}

/** Answers how many workers of other builds live. */
async function see(db: Sql, { id, version, sandbox, models }: WorkerEntry): Promise<number> {
  const [row] = await db.query<{ others: number }>({
    name: 'worker-seen',
    text: `WITH old AS (DELETE FROM worker_seen WHERE seen_at < now() - interval '1 day'),
           mine AS (INSERT INTO worker_seen (id, host, pid, version, sandbox, models, locked)
             VALUES ($1, $2, $3, $4, $5, $6, true)
             ON CONFLICT (id) DO UPDATE SET seen_at = now(), sandbox = excluded.sandbox, models = excluded.models)
           SELECT count(*)::int AS others FROM worker_seen
             WHERE version <> $4 AND seen_at > now() - interval '15 seconds'`,
    values: [id, hostname(), process.pid, version, sandbox, JSON.stringify(models())],
  });
  return row?.others ?? 0;
}

/** A worker that is silent for longer than a beat and a half has ended, or is as good as ended. */
const SILENT_MS = 8_000;
/** Workers whose last beats lie within two beats of one another ended together. */
const TOGETHER_MS = 10_000;

/**
 * What is known of a worker: it lives, it was told to leave, it ended together with others (a host or a network went),
 * or it died. One of which nothing is known died.
 */
export async function lastOf(db: Sql, worker: string): Promise<'alive' | 'left' | 'ended-with-others' | 'died'> {
  const [row] = await db.query<{ alive: boolean; left: boolean; others: number }>({
    name: 'worker-last',
    text: `SELECT w.seen_at > now() - $2 * interval '1 ms' AS alive, w.leaving_at IS NOT NULL AS left,
        (SELECT count(*)::int FROM worker_seen o WHERE o.id <> w.id AND o.leaving_at IS NULL
          AND o.seen_at < now() - $2 * interval '1 ms'
          AND o.seen_at BETWEEN w.seen_at - $3 * interval '1 ms' AND w.seen_at + $3 * interval '1 ms') AS others
      FROM worker_seen w WHERE w.id = $1`,
    values: [worker, SILENT_MS, TOGETHER_MS],
  });
  if (row === undefined) return 'died';
  if (row.left) return 'left';
  if (row.alive) return 'alive';
  return row.others > 0 ? 'ended-with-others' : 'died';
}
