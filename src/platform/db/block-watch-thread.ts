import { setTimeout as sleep } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import pg from 'pg';
import { threadCpuMs } from '../../shared/thread-cpu.js';
import { BlockMeter } from './block-meter.js';
import { BEATS, BLOCKS, type BlockWatchData } from './block-watch.js';
import { clientConfig } from './pool.js';

const SAMPLE_MS = 250;
const RETRY_MS = 500;
/** Longer than the pool allows: on a starved machine, this thread shares the little CPU with the one that is blocked. */
const TIMEOUT_MS = 10_000;

const { workerId, url, ca, thread, counters, limits } = workerData as BlockWatchData;

const meter = new BlockMeter(limits);

function sample(): void {
  const cpuMs = threadCpuMs(thread);
  if (cpuMs === null) return;
  const from = meter.sample({ now: performance.now(), beats: Atomics.load(counters, BEATS), cpuMs });
  if (from !== null) void record(Atomics.add(counters, BLOCKS, 1) + 1, from);
}

/** Retries until the database takes it: the record stays true. */
async function record(blocks: number, from: number): Promise<void> {
  while (!(await write(blocks, from))) await sleep(RETRY_MS);
}

/** Calls that were in flight when the worker began to shut down were cut on purpose, so a later block cuts none. */
async function write(blocks: number, from: number): Promise<boolean> {
  const timeouts = { connectionTimeoutMillis: TIMEOUT_MS, query_timeout: TIMEOUT_MS };
  const client = new pg.Client({ ...clientConfig({ url, ca }), ...timeouts });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query(
      `UPDATE worker_seen SET blocks = $2, blocked_from = now() - $3 * interval '1 ms'
        WHERE id = $1 AND blocks < $2 AND (leaving_at IS NULL OR leaving_at > now() - $3 * interval '1 ms')`,
      [workerId, blocks, performance.now() - from],
    );
    return true;
  } catch {
    return false;
  } finally {
    // A server that hangs does not answer to the end either.
    void client.end().catch(() => undefined);
  }
}

setInterval(sample, SAMPLE_MS);
