import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** Identifies a process: a pid alone may be reused. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot on Linux, a date elsewhere: only ever compared. */
  readonly started: string;
}

/** When the process started; null when there is none, or only its zombie. */
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

/** Whether the process has ended and its parent has not collected it yet. */
export function isZombie(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0 || startedAt(pid) !== null) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The processes whose parent it is. */
export function childrenOf(pid: number): readonly number[] {
  try {
    return process.platform === 'linux' ? listProc(pid) : listPs(pid);
  } catch {
    return [];
  }
}

function listProc(parent: number): readonly number[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      return /^\d+$/.test(name) && statFields(Number(name))[1] === String(parent) ? [Number(name)] : [];
    } catch {
      // It ended meanwhile.
      return [];
    }
  });
}

function listPs(parent: number): readonly number[] {
  const lines = execFileSync('/bin/ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).split('\n');
  return lines
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([pid, ppid]) => (pid !== undefined && ppid === parent ? [pid] : []));
}

/** proc(5): the command is in parentheses and may hold spaces. Field 3, the state, is the first one here. */
function statFields(pid: number): readonly string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function fromProc(pid: number): string | null {
  // The start time is field 22.
  const fields = statFields(pid);
  if (fields[0] === 'Z' || fields[0] === 'X') return null;
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  return `${boot}/${fields[19]}`;
}

function fromPs(pid: number): string | null {
  const text = execFileSync('/bin/ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  return text === '' || text.startsWith('Z') ? null : text.replace(/^\S+\s+/, '');
}
