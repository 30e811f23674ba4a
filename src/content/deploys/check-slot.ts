import { Worker } from 'node:worker_threads';
import { type JobName, type JobOutput, MAX_LIBRARIES, type SharedFiles } from '../../format/index.js';
import { Lru } from '../../shared/lru.js';
import { threadCpuMs } from '../../shared/thread-cpu.js';
import type { WorkReply, WorkRequest } from './check-worker.js';

/** The maximum wall time, as a multiple of the requested CPU time. */
const LONGEST = 5;

const SHORTEST_POLL_MS = 20;

/** A check that exceeded its limit of time or memory. */
export class CheckCut extends Error {
  constructor(readonly reason: 'time' | 'memory') {
    super(`the check was cut off: ${reason}`);
  }
}

const START_MS = 10_000;

/** Longer than the limit of a check, which the library met when it was stored, since the machine may be busy now. */
const LOAD_LIBRARY_MS = 5_000;

/** Well above the memory that a parsed tree of at most 16 MiB needs. */
const LIMITS = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 64, stackSizeMb: 4 };

/** Runs one worker at a time, for many checks. The worker is replaced after a check that exceeded its limit. */
export class CheckSlot {
  #worker: Worker | undefined;
  #ready: Promise<Worker> | undefined;
  /** The worker's thread, as `/proc/thread-self` names it. */
  #thread: string | null = null;
  /** Keys of the libraries that the worker has loaded. */
  #loaded = new Lru<string, true>(MAX_LIBRARIES);

  constructor(
    private readonly workerPath: string,
    private readonly timeoutMs: number,
  ) {}

  /** Starts a worker before the next check, which reports a failed start. */
  warm(): void {
    this.#start().catch(() => undefined);
  }

  /** `library` is what the tree refers to. It is sent to a worker once, not with every tree. */
  async work<K extends JobName>(request: WorkRequest<K>, library?: SharedFiles): Promise<JobOutput<K>> {
    const worker = await this.#start();
    worker.ref();
    try {
      if (library && this.#loaded.get(library.key) === undefined) {
        await this.#ask(worker, { name: 'load-library', input: library }, LOAD_LIBRARY_MS);
        this.#loaded.set(library.key, true);
      }
      return await this.#ask(worker, request, this.timeoutMs);
    } finally {
      worker.unref();
    }
  }

  async #ask<K extends JobName>(worker: Worker, request: WorkRequest<K>, timeoutMs: number): Promise<JobOutput<K>> {
    const reply = await this.#reply(worker, request, timeoutMs);
    if (reply.kind === 'done') return reply.output as JobOutput<K>;
    throw new Error(
      reply.kind === 'failed' ? `the check failed: ${reply.message}` : 'the check worker answered out of turn',
    );
  }

  async stop(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    this.#ready = undefined;
    await worker?.terminate();
  }

  #start(): Promise<Worker> {
    this.#ready ??= this.#launch().catch(async (error) => {
      await this.stop();
      throw error;
    });
    return this.#ready;
  }

  async #launch(): Promise<Worker> {
    // No environment: it holds the operator's secrets, which checks do not need.
    const worker = new Worker(this.workerPath, { env: {}, execArgv: [], resourceLimits: LIMITS });
    this.#worker = worker;
    this.#loaded = new Lru(MAX_LIBRARIES);
    // A worker that ends between checks is dropped; the next check starts another.
    worker.on('error', () => this.#forget(worker));
    worker.on('exit', () => this.#forget(worker));
    const reply = await within(worker, START_MS, () => threadCpuMs(null));
    this.#thread = reply.kind === 'ready' ? reply.thread : null;
    worker.unref();
    return worker;
  }

  #forget(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#ready = undefined;
  }

  async #reply(worker: Worker, request: WorkRequest, timeoutMs: number): Promise<WorkReply> {
    try {
      worker.postMessage(request);
      return await within(worker, timeoutMs, () => threadCpuMs(this.#thread));
    } catch (error) {
      if (error instanceof CheckCut) await this.stop();
      throw error;
    }
  }
}

/** The worker's next message; rejects when it takes too long, runs out of memory or ends. */
function within(worker: Worker, ms: number, cpuMs: () => number | null): Promise<WorkReply> {
  return new Promise((resolve, reject) => {
    // Measures CPU time, since a busy machine may give the worker little of the wall time.
    const stopTimer = afterCpuTime(ms, () => end(() => reject(new CheckCut('time'))), cpuMs);
    const onMessage = (reply: WorkReply) => end(() => resolve(reply));
    const onError = (error: Error & { code?: string }) =>
      end(() => reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? new CheckCut('memory') : error));
    const onExit = (code: number) => end(() => reject(new Error(`the check worker ended with ${code}`)));
    function end(complete: () => void): void {
      stopTimer();
      worker.off('message', onMessage).off('error', onError).off('exit', onExit);
      complete();
    }
    worker.on('message', onMessage).on('error', onError).on('exit', onExit);
  });
}

/**
 * Calls back when the work has used `ms` of CPU time, or after five times as much wall time, since on a busy machine
 * the work gets less CPU. A failed reading (null) counts as no CPU time. Messages that have arrived by then come first,
 * so that a finished answer still counts. Returns the function that cancels the timer.
 */
export function afterCpuTime(
  ms: number,
  then: () => void,
  cpuMs: () => number | null = () => threadCpuMs(null),
): () => void {
  const startedAt = performance.now();
  let last = cpuMs();
  let usedMs = 0;
  let timer = setTimeout(poll, ms);
  let end: NodeJS.Immediate | undefined;
  function poll(): void {
    const cpu = cpuMs();
    usedMs += cpu === null || last === null ? 0 : cpu - last;
    last = cpu ?? last;
    const passed = performance.now() - startedAt;
    const lacks = ms - usedMs;
    if (lacks <= 0 || passed >= ms * LONGEST) end = setImmediate(then);
    else timer = setTimeout(poll, Math.max(SHORTEST_POLL_MS, Math.min(lacks, ms * LONGEST - passed)));
  }
  return () => {
    clearTimeout(timer);
    clearImmediate(end);
  };
}
