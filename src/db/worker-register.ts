import { hostname } from 'node:os';
import type { Log } from '../shared/log.js';
import { errorMessage } from '../shared/refusal.js';
import type { Sql } from './contract.js';

export interface WorkerEntry {
  readonly id: string;
  readonly version: string;
  /** The driver that programs run under, and why they are refused when they are. */
  readonly sandbox: string;
}

const EVERY_MS = 5_000;

/** Says every 5 s that this worker lives, so that an API on another machine can tell; takes its row back at the end. */
export async function keepWorkerSeen(db: Sql, entry: WorkerEntry, log: Log): Promise<{ close(): Promise<void> }> {
  let failing = false;
  async function beat(): Promise<void> {
    try {
      await see(db, entry);
      failing = false;
    } catch (error) {
      if (!failing) log.warn({ error: errorMessage(error) }, 'this worker cannot say that it lives');
      failing = true;
    }
  }
  await beat();
  let last = Promise.resolve();
  const timer = setInterval(() => {
    last = last.then(beat);
  }, EVERY_MS);
  return {
    async close() {
      clearInterval(timer);
      await last;
      await db.query('DELETE FROM worker_seen WHERE id = $1', [entry.id]);
    },
  };
}

async function see(db: Sql, { id, version, sandbox }: WorkerEntry): Promise<void> {
  await db.query({
    name: 'worker-seen',
    text: `WITH old AS (DELETE FROM worker_seen WHERE seen_at < now() - interval '1 day')
           INSERT INTO worker_seen (id, host, pid, version, sandbox) VALUES ($1, $2, $3, $4, $5)
           ON CONFLICT (id) DO UPDATE SET seen_at = now(), sandbox = excluded.sandbox`,
    values: [id, hostname(), process.pid, version, sandbox],
  });
}
