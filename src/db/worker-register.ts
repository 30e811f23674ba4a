import { hostname } from 'node:os';
import type { Log } from '../shared/log.js';
import type { Sql } from './contract.js';

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

export interface SeenWorker {
  /** False while a worker of another build lives, by the last beat that the database answered. */
  isOnlyBuild(): boolean;
  close(): Promise<void>;
}

/** Says every 5 s that this worker lives, so that others can tell; takes its row back at the end. */
export async function keepWorkerSeen(db: Sql, entry: WorkerEntry, log: Log): Promise<SeenWorker> {
  let failing = false;
  let others = 1;
  async function beat(): Promise<void> {
    try {
      others = await see(db, entry);
      failing = false;
    } catch (error) {
      if (!failing) log.warn({ err: error }, 'this worker cannot say that it lives');
      failing = true;
    }
  }
  await beat();
  let last = Promise.resolve();
  const timer = setInterval(() => {
    last = last.then(beat);
  }, EVERY_MS);
  return {
    isOnlyBuild: () => others === 0,
    async close() {
      clearInterval(timer);
      await last;
      await db.query('DELETE FROM worker_seen WHERE id = $1', [entry.id]);
    },
  };
}

/** Answers how many workers of other builds live. */
async function see(db: Sql, { id, version, sandbox, models }: WorkerEntry): Promise<number> {
  const [row] = await db.query<{ others: number }>({
    name: 'worker-seen',
    text: `WITH old AS (DELETE FROM worker_seen WHERE seen_at < now() - interval '1 day'),
           mine AS (INSERT INTO worker_seen (id, host, pid, version, sandbox, models) VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (id) DO UPDATE SET seen_at = now(), sandbox = excluded.sandbox, models = excluded.models)
           SELECT count(*)::int AS others FROM worker_seen
             WHERE version <> $4 AND seen_at > now() - interval '15 seconds'`,
    values: [id, hostname(), process.pid, version, sandbox, JSON.stringify(models())],
  });
  return row?.others ?? 0;
}
