import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { ProgramResult } from './contract.js';
import type { Limits } from './limits.js';

type Excess = Extract<ProgramResult['killed'], 'memory' | 'processes'>;

/**
 * The limit that a program exceeds, counted over all its processes; null for none. `init` is the
 * first process of its pid namespace: the namespace's own /proc lists exactly the program's processes.
 */
export function findExcess(init: number, limits: Limits): Excess | null {
  const proc = insideProc(init);
  if (proc === null) return null;
  let processes = 0;
  let resident = 0;
  for (const entry of listNumbers(proc)) {
    const status = readText(`${proc}/${entry}/status`);
    processes += field(status, 'Threads');
    resident += 1024 * (field(status, 'RssAnon') + field(status, 'RssShmem') + field(status, 'VmSwap'));
  }
  resident += heldBySockets(init);
  // bubblewrap's own first process is not the program's.
  if (processes - 1 > limits.processes) return 'processes';
  return resident > limits.memory ? 'memory' : null;
}

/** The number of sockets that do not count, more than most programs ever have. */
const FREE_SOCKETS = 256;
/** Twice net.core.wmem_max: the kernel memory that one socket may hold, which is charged to no process. */
const SOCKET_BYTES = 425_984;

/** The maximum that all Unix sockets in a program's network namespace can hold, including sockets in flight. */
function heldBySockets(init: number): number {
  const sockets = readText(`/proc/${init}/net/unix`).split('\n').length - 2;
  return Math.max(0, sockets - FREE_SOCKETS) * SOCKET_BYTES;
}

/** The /proc of a pid namespace as seen from outside; null before bubblewrap has made it, or after the end. */
export function insideProc(init: number): string | null {
  const proc = `/proc/${init}/root/proc`;
  try {
    // Until bubblewrap changes the root, this is the host's own /proc, where `self` resolves.
    readlinkSync(`${proc}/self`);
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? proc : null;
  }
}

export function listNumbers(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

function field(status: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
}
