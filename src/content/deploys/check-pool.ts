import type {
  CheckContext,
  Checked,
  CheckedLibrary,
  Checker,
  Issue,
  JobInput,
  JobName,
  JobOutput,
  OtherJob,
  SharedFiles,
  SourceFile,
} from '../../format/index.js';
import { Refusal } from '../../shared/refusal.js';
import { CheckCut, CheckSlot } from './check-slot.js';
import type { WorkRequest } from './check-worker.js';

export interface CheckPoolOptions {
  /** The bundled check-worker. */
  readonly workerPath: string;
  /** The number of workers, at least 2, so that a check that times out does not delay the next one. */
  readonly size?: number;
  /** How many workers start in advance, 1 when left out. A start takes a third of a second. */
  readonly ahead?: number;
  /** The time limit of one check in a worker. */
  readonly timeoutMs?: number;
}

interface Task {
  readonly request: WorkRequest;
  readonly library: SharedFiles | undefined;
  readonly resolve: (output: JobOutput<JobName>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Checks trees in worker threads, first come, first served. A tree that takes too much time or memory gets the issue
 * `tree/too-large`; its worker is replaced without an effect on other checks. Rejects only when no worker can start, or
 * after `close`.
 */
export function createChecker({ workerPath, size = 2, ahead = 1, timeoutMs = 2_000 }: CheckPoolOptions): Checker {
  const slots = Array.from({ length: Math.max(2, size) }, () => new CheckSlot(workerPath, timeoutMs));
  for (const slot of slots.slice(0, ahead)) slot.warm();
  return new Pool(slots, timeoutMs);
}

class Pool implements Checker {
  readonly #queue: Task[] = [];
  readonly #idle: CheckSlot[];
  readonly #running = new Set<Task>();
  #closed = false;

  constructor(
    private readonly slots: readonly CheckSlot[],
    private readonly timeoutMs: number,
  ) {
    this.#idle = [...slots];
  }

  async check(files: readonly SourceFile[], context: CheckContext, library?: SharedFiles): Promise<Checked> {
    const key = library?.key ?? '';
    try {
      return await this.#ask('check', { files, context, library: key }, key === '' ? undefined : library);
    } catch (error) {
      if (!(error instanceof CheckCut)) throw error;
      return { workspace: null, issues: [tooLarge(error, files, this.timeoutMs)], urls: [] };
    }
  }

  async checkLibrary(files: readonly SourceFile[]): Promise<CheckedLibrary> {
    try {
      return await this.#ask('check-library', { files });
    } catch (error) {
      if (!(error instanceof CheckCut)) throw error;
      return { entries: [], issues: [tooLarge(error, files, this.timeoutMs)] };
    }
  }

  async work<K extends OtherJob>(name: K, input: JobInput<K>): Promise<JobOutput<K>> {
    try {
      return await this.#ask(name, input);
    } catch (error) {
      if (!(error instanceof CheckCut)) throw error;
      throw new Refusal('refused', `reading this file ${limitOf(error, this.timeoutMs)}: split it, or nest less deep`);
    }
  }

  #ask<K extends JobName>(name: K, input: JobInput<K>, library?: SharedFiles): Promise<JobOutput<K>> {
    if (this.#closed) return Promise.reject(closed());
    return new Promise((resolve, reject) => {
      const request = { name, input } as WorkRequest;
      this.#queue.push({ request, library, resolve: resolve as Task['resolve'], reject });
      this.#next();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const task of [...this.#queue.splice(0), ...this.#running]) task.reject(closed());
    await Promise.all(this.slots.map((slot) => slot.stop()));
  }

  #next(): void {
    const slot = this.#queue.length > 0 ? this.#idle.shift() : undefined;
    const task = slot && this.#queue.shift();
    if (slot && task) void this.#run(slot, task);
  }

  async #run(slot: CheckSlot, task: Task): Promise<void> {
    this.#running.add(task);
    try {
      task.resolve(await slot.work(task.request, task.library));
      // First in line, since its worker is running.
      this.#idle.unshift(slot);
    } catch (error) {
      task.reject(error);
      if (!this.#closed) slot.warm();
      this.#idle.push(slot);
    } finally {
      this.#running.delete(task);
      if (!this.#closed) this.#next();
    }
  }
}

function closed(): Error {
  return new Error('the checker is closed');
}

function limitOf({ reason }: CheckCut, timeoutMs: number): string {
  return reason === 'time' ? `took longer than ${timeoutMs / 1_000} s` : 'took too much memory';
}

/** The file that caused it is unknown, so the issue names the largest. */
function tooLarge(cut: CheckCut, files: readonly SourceFile[], timeoutMs: number): Issue {
  const [largest] = [...files].sort((a, b) => b.content.length - a.content.length);
  return {
    path: largest?.path ?? '',
    line: 1,
    column: 1,
    code: 'tree/too-large',
    severity: 'error',
    message: `Reading this tree ${limitOf(cut, timeoutMs)}, so nothing was applied; this is its largest file.`,
    hint: 'Split large files, and take out lists, tables and quotes that nest deep.',
  };
}
