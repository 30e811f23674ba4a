import { readlinkSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { withErrorListener } from '../../shared/error-listener.js';
import type { Log } from '../../shared/log.js';
import type { BlockLimits } from './block-meter.js';
import type { DbOptions } from './pool.js';

/** Indexes into the memory that both threads share. */
export const BEATS = 0;
export const BLOCKS = 1;

const BEAT_MS = 250;
/**
 * A worker loses its activities 8 to 10 s after its last turn. A shorter block cuts no call. A thread that gets a tenth
 * of a core still uses the CPU time in the meantime.
 */
const LIMITS: BlockLimits = { silentMs: 8_000, cpuMs: 1_000 };

export interface BlockWatchData {
  readonly workerId: string;
  readonly url: string;
  readonly ca: string | null;
  /** The watched thread's path from `/proc/thread-self`; null outside Linux. */
  readonly thread: string | null;
  readonly counters: Int32Array;
  readonly limits: BlockLimits;
}

interface BlockWatchOptions extends Pick<BlockWatchData, 'workerId' | 'url'>, Pick<DbOptions, 'ca' | 'log'> {
  /** The bundled thread. */
  readonly threadPath: string;
  readonly limits?: BlockLimits;
}

interface BlockWatch {
  /** How often this thread has been blocked so far. */
  blocks(): number;
  close(): Promise<void>;
}

/**
 * Watches the thread that calls this. A second thread records in `worker_seen` each time the watched one had no turn of
 * its event loop for 8 s and used 1 s of CPU time meanwhile. A process or machine that was stopped uses no CPU time.
 */
export function startBlockWatch(options: BlockWatchOptions): BlockWatch {
  const counters = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  const beat = setInterval(() => Atomics.add(counters, BEATS, 1), BEAT_MS);
  beat.unref();
  const thread = startThread(options, counters);
  return {
    blocks: () => Atomics.load(counters, BLOCKS),
    async close() {
      clearInterval(beat);
      await thread?.terminate();
    },
  };
}

function startThread(options: BlockWatchOptions, counters: Int32Array): Worker | null {
  const { workerId, url, ca, log, threadPath, limits = LIMITS } = options;
  const data: BlockWatchData = { workerId, url, ca, thread: threadSelf(), counters, limits };
  try {
    const thread = withErrorListener(new Worker(threadPath, { workerData: data, execArgv: [] }));
    thread.on('error', (err) => warn(log, err));
    thread.unref();
    return thread;
  } catch (err) {
    warn(log, err);
    return null;
  }
}

function warn(log: Log, err: unknown): void {
  log.warn({ err }, 'the thread that watches for blocked calls ended: calls that block this worker are not counted');
}

function threadSelf(): string | null {
  try {
    return readlinkSync('/proc/thread-self');
  } catch {
    return null;
  }
}
