import type { JobInput, JobName, JobOutput } from './jobs.js';
import type { CheckContext, Checked, SourceFile } from './model.js';

/** Reads users' text. The real one works in a worker thread and never hangs: over its limits a text costs itself a refusal. */
export interface Checker {
  check(files: readonly SourceFile[], context: CheckContext): Promise<Checked>;
  /** Refuses `refused` a text that takes too long or too much memory. */
  work<K extends Exclude<JobName, 'check'>>(name: K, input: JobInput<K>): Promise<JobOutput<K>>;
  close(): Promise<void>;
}
