import type { CheckContext, Checked, SourceFile } from './model.js';

/** Reads a whole tree. The real one works in a worker thread and never hangs: over its limits a tree costs itself a refusal. */
export interface Checker {
  check(files: readonly SourceFile[], context: CheckContext): Promise<Checked>;
  close(): Promise<void>;
}
