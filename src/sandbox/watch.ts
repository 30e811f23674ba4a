import { statfs } from 'node:fs/promises';
import type { Killed } from './contract.js';
import type { Limits } from './limits.js';
import { createLookPace, type FreeSpace } from './look-pace.js';
import { measureHidden, NOTHING } from './measure-hidden.js';
import { findOverrun, measureFolder } from './measure-work.js';
import type { ProcessId } from './process-table.js';
import { findExcess } from './watchdog.js';

export interface Watched {
  /** Null for a driver without a pid namespace: then the folder alone is watched. */
  readonly init: ProcessId | null;
  readonly workDir: string;
  readonly limits: Limits;
}

type OnExcess = (why: Killed) => void;

const PROCESS_MS = 100;
const FOLDER_MS = 500;
/** Files that are sent from one process to another are received within moments. */
const IN_FLIGHT_LOOKS = 6;

/** Watches a program's memory, processes and disk until the returned function is called. */
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
  const look = createLook(watched);
  const next = () => {
    folder = setTimeout(async () => {
      // A failed measurement says nothing about the program: the next one follows.
      const excess = await look().catch(() => null);
      if (excess) onExcess(excess);
      else if (!stopped) next();
    }, FOLDER_MS);
  };
  next();
  return () => {
    stopped = true;
    clearTimeout(folder);
    if (processes) clearInterval(processes);
  };
}

/** Measures the folder: requested every half second, done at the folder's pace. */
function createLook({ init, workDir, limits }: Watched): () => Promise<Killed | null> {
  const pace = createLookPace(limits);
  let inFlight = 0;
  return async () => {
    const free = await freeOf(workDir);
    const begun = performance.now();
    if (!pace.isDue(begun, free)) return null;
    const use = await measureFolder(workDir, limits);
    const hidden = init ? await measureHidden(init.pid) : NOTHING;
    inFlight = hidden.inFlight > 0 ? inFlight + 1 : 0;
    pace.looked(begun, performance.now(), free);
    const overrun = findOverrun({ ...use, bytes: use.bytes + hidden.bytes }, limits);
    if (hidden.shared > limits.memory) return 'memory';
    return overrun ?? (inFlight >= IN_FLIGHT_LOOKS ? 'in-flight' : null);
  };
}

async function freeOf(folder: string): Promise<FreeSpace> {
  const disk = await statfs(folder).catch(() => null);
  return disk ? { bytes: disk.bavail * disk.bsize, files: disk.ffree } : { bytes: 0, files: 0 };
}
