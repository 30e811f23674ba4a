import type { ProgramResult } from './contract.js';
import type { Limits } from './limits.js';
import { isOver, measureFolder, measureHidden } from './measure-work.js';
import type { ProcessId } from './process-table.js';
import { findExcess } from './watchdog.js';

export interface Watched {
  /** Null for a driver without a pid namespace: then the folder alone is watched. */
  readonly init: ProcessId | null;
  readonly workDir: string;
  readonly limits: Limits;
}

type OnExcess = (why: Extract<ProgramResult['killed'], 'memory' | 'processes' | 'disk'>) => void;

const PROCESS_MS = 100;
const FOLDER_MS = 500;

/** Looks after a program's memory, processes and disk until the answered function is called. */
export function watch(watched: Watched, onExcess: OnExcess): () => void {
  const { init, limits } = watched;
  let stopped = false;
  const processes =
    init &&
    setInterval(() => {
      const excess = findExcess(init.pid, limits);
      if (excess) onExcess(excess);
    }, PROCESS_MS);
  let folder: NodeJS.Timeout;
  const next = (ms: number) => {
    folder = setTimeout(() => void look(), ms);
  };
  const look = async () => {
    const begun = performance.now();
    if (await isFull(watched)) onExcess('disk');
    // A big folder takes long to measure: never more than a tenth of the time is spent on it.
    else if (!stopped) next(Math.max(FOLDER_MS, 9 * (performance.now() - begun)));
  };
  next(FOLDER_MS);
  return () => {
    stopped = true;
    clearTimeout(folder);
    if (processes) clearInterval(processes);
  };
}

async function isFull({ init, workDir, limits }: Watched): Promise<boolean> {
  const use = await measureFolder(workDir, limits);
  if (init) use.bytes += await measureHidden(init.pid);
  return isOver(use, limits);
}
