import type { JobInput, JobName, JobOutput } from './jobs.js';
import type { CheckedLibrary } from './library.js';
import type { CheckContext, Checked, SourceFile } from './model.js';

/** Jobs that are requested by name. */
export type OtherJob = Exclude<JobName, 'check' | 'check-library' | 'load-library'>;

/** An account's library as checks need it. Its paths do not begin with `library/`. `key` changes with the files. */
export interface SharedFiles {
  readonly key: string;
  readonly files: readonly SourceFile[];
}

/** Reads users' text. The real one works in a worker thread and never hangs: a text over its limits is refused. */
export interface Checker {
  check(files: readonly SourceFile[], context: CheckContext, library?: SharedFiles): Promise<Checked>;
  /** Checks an account's library alone. */
  checkLibrary(files: readonly SourceFile[]): Promise<CheckedLibrary>;
  /** Refuses as `refused` a text that takes too long or too much memory. */
  work<K extends OtherJob>(name: K, input: JobInput<K>): Promise<JobOutput<K>>;
  close(): Promise<void>;
}
