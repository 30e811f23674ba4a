import { setTimeout as sleep } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import pg from 'pg';
import { threadCpuMs } from '../../shared/thread-cpu.js';
import { BEATS, BLOCKS, type BlockWatchData } from './block-watch.js';
import { clientConfig } from './pool.js';

const LOOK_MS = 250;
const RETRY_MS = 500;

const { workerId, url, ca, thread, counters, blockedCpuMs } = workerData as BlockWatchData;

let beats = -1;
let cpuAtBeat = 0;
let isBlocked = false;

function look(): void {
  const cpu = threadCpuMs(thread);
  if (cpu === null) return;
  const now = Atomics.load(counters, BEATS);
  if (now !== beats) {
    beats = now;
    cpuAtBeat = cpu;
    isBlocked = false;
  } else if (!isBlocked && cpu - cpuAtBeat >= blockedCpuMs) {
    isBlocked = true;
    void record(Atomics.add(counters, BLOCKS, 1) + 1);
  }
}

/** Retries until the database takes it: the record stays true. */
async function record(blocks: number): Promise<void> {
  while (!(await write(blocks))) await sleep(RETRY_MS);
}

async function write(blocks: number): Promise<boolean> {
  const client = new pg.Client(clientConfig({ url, ca }));
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('UPDATE worker_seen SET blocks = greatest(blocks, $2) WHERE id = $1', [workerId, blocks]);
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

setInterval(look, LOOK_MS);
