import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { isRunning, readProcStat } from '../../shared/proc-stat.js';

/** Identifies a process: a pid alone may be reused. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot on Linux, a date elsewhere. Only compared. */
  readonly started: string;
}

/** When the process started; null when it does not exist or is a zombie. */
export function startedAt(pid: number): string | null {
  try {
    return process.platform === 'linux' ? fromProc(pid) : fromPs(pid);
  } catch {
    return null;
  }
}

export function identify(pid: number): ProcessIdentity {
  return { pid, started: startedAt(pid) ?? '' };
}

export function isAlive({ pid, started }: ProcessIdentity): boolean {
  return startedAt(pid) === started && started !== '';
}

/** True if the process has ended and its parent has not reaped it yet. */
export function isZombie(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0 || startedAt(pid) !== null) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The child processes. */
export function childrenOf(pid: number): readonly number[] {
  try {
    return process.platform === 'linux' ? listProc(pid) : listPs(pid);
  } catch {
    return [];
  }
}

function listProc(parent: number): readonly number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => readProcStat(pid)?.parent === parent);
}

function listPs(parent: number): readonly number[] {
  const lines = execFileSync('/bin/ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).split('\n');
  return lines
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([pid, ppid]) => (pid !== undefined && ppid === parent ? [pid] : []));
}

function fromProc(pid: number): string | null {
  const stat = readProcStat(pid);
  if (!stat || !isRunning(stat)) return null;
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  return `${boot}/${stat.startTicks}`;
}

function fromPs(pid: number): string | null {
  const text = execFileSync('/bin/ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  return text === '' || text.startsWith('Z') ? null : text.replace(/^\S+\s+/, '');
}
