import { readdirSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { sleep } from '../shared/deadline.js';
import { isRunning, readProcStat } from '../shared/proc-stat.js';

/** USER_HZ, which Linux fixes at 100 for programs (time(7)). */
const TICKS_A_SECOND = 100n;

/** Identifies a process: a pid alone may be reused. */
export interface ProcessId {
  readonly pid: number;
  /** Start time in clock ticks since boot. */
  readonly ticks: bigint;
}

/** The process of this pid; null when there is none, or only its zombie. */
export function lookUpProcess(pid: number): (ProcessId & { readonly group: number }) | null {
  const stat = readProcStat(pid);
  return stat && isRunning(stat) ? { pid, ticks: stat.startTicks, group: stat.group } : null;
}

/**
 * Processes of a group whose leader is gone, started within 10 s of the leader: if the group's id was reused since, its
 * new members do not match.
 */
export function findOrphans(leader: ProcessId): ProcessId[] {
  if (lookUpProcess(leader.pid) !== null) return [];
  return readdirSync('/proc').flatMap((name) => {
    const found = /^\d+$/.test(name) ? lookUpProcess(Number(name)) : null;
    const isOrphan =
      found?.group === leader.pid && found.ticks >= leader.ticks && found.ticks - leader.ticks < 10n * TICKS_A_SECOND;
    return found && isOrphan ? [found] : [];
  });
}

export function isAlive(process: ProcessId): boolean {
  return lookUpProcess(process.pid)?.ticks === process.ticks;
}

/**
 * Sends SIGKILL to a process, or with `group` to its process group. Ignores a process that is gone, or whose pid now
 * belongs to another user (EPERM): timers and abort listeners call this, where nothing catches.
 */
export function killProcess(pid: number, group: boolean): void {
  try {
    process.kill(group ? -pid : pid, 'SIGKILL');
  } catch (error) {
    if (!['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

/** Resolves true when all are gone, false after `timeoutMs`. It polls, since the kernel notifies only the parent. */
export async function waitUntilGone(processes: readonly ProcessId[], timeoutMs: number): Promise<boolean> {
  const end = performance.now() + timeoutMs;
  for (let pause = 1; processes.some(isAlive); pause = Math.min(pause * 2, 50)) {
    if (performance.now() > end) return false;
    await sleep(pause);
  }
  return true;
}

/** This host's name in the register. Two containers may share a hostname but not a pid namespace. */
export function hostIdentity(): string {
  let namespace = '';
  try {
    namespace = ` ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    // No /proc (not Linux): use the hostname only.
  }
  return hostname() + namespace;
}

/** This process as the register names it: `<worker>@<pid>.<ticks>`, so that any process on the host can check if it lives. */
export function workerIdentity(workerId: string): string {
  return `${workerId}@${process.pid}.${lookUpProcess(process.pid)?.ticks ?? 0}`;
}

export function isWorkerAlive(identity: string): boolean {
  const match = /@(\d+)\.(\d+)$/.exec(identity);
  return match !== null && isAlive({ pid: Number(match[1]), ticks: BigInt(match[2] ?? 0) });
}
