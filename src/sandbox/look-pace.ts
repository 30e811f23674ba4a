import type { Limits } from './limits.js';

/** What the disk of a folder has left. A disk that counts no files (btrfs) has 0 of them. */
export interface FreeSpace {
  readonly bytes: number;
  readonly files: number;
}

export interface LookPace {
  isDue(nowMs: number, free: FreeSpace): boolean;
  /** After a look that began and ended at these times, with what was free when it began. */
  looked(startedMs: number, endedMs: number, free: FreeSpace): void;
}

/**
 * A big folder takes long to measure, so at most a tenth of the time goes into it, unless the disk has meanwhile lost a
 * large part of what the folder may hold, in bytes or in files.
 */
export function createLookPace(limits: Pick<Limits, 'work' | 'workFiles'>): LookPace {
  let dueMs = 0;
  let freeThen: FreeSpace = { bytes: 0, files: 0 };
  return {
    isDue: (nowMs, free) =>
      nowMs >= dueMs ||
      freeThen.bytes - free.bytes >= limits.work / 4 ||
      freeThen.files - free.files >= limits.workFiles / 4,
    looked(startedMs, endedMs, free) {
      dueMs = startedMs + 10 * (endedMs - startedMs);
      freeThen = free;
    },
  };
}
