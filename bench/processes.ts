import { type ChildProcess, type ForkOptions, fork } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

const TICKS_A_SECOND = 100;

/** A process and all its descendants, by pid. Linux's /proc. */
function treeOf(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const fields = statOf(Number(name));
    if (fields) parents.set(Number(name), Number(fields[1]));
  }
  const found = [pid];
  for (const one of found) for (const [child, parent] of parents) if (parent === one) found.push(child);
  return found;
}

/** The fields of /proc/<pid>/stat behind the command's name: state, parent, … (proc(5)). */
function statOf(pid: number): string[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}

/** CPU time of the processes and their descendants so far, ended children included, in ms. */
export function cpuMs(pids: readonly number[]): number {
  const all = new Set(pids.flatMap(treeOf));
  let ticks = 0;
  for (const pid of all) {
    const fields = statOf(pid);
    for (const index of [11, 12, 13, 14]) ticks += Number(fields?.[index] ?? 0);
  }
  return (ticks * 1_000) / TICKS_A_SECOND;
}

/** Memory of the processes and their descendants, shared pages counted once (PSS), in MB. */
export function memoryMb(pids: readonly number[]): number {
  let kb = 0;
  for (const pid of new Set(pids.flatMap(treeOf))) {
    try {
      kb += Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0);
    } catch {
      // It ended meanwhile.
    }
  }
  return kb / 1_024;
}

/** Forks a module and waits for its first word. */
export async function forkReady(
  path: string,
  args: readonly string[] = [],
  options: ForkOptions = {},
): Promise<{ child: ChildProcess; word: Record<string, unknown> }> {
  const child = fork(path, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], ...options });
  const word = await new Promise<Record<string, unknown>>((resolve, reject) => {
    child.once('message', (message) => resolve(message as Record<string, unknown>));
    child.once('exit', (code) => reject(new Error(`${path} ended with ${code}`)));
  });
  return { child, word };
}
