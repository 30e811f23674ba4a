import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** A process that cannot be taken for another: a pid alone may have been given away again. */
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

function fromProc(pid: number): string | null {
  // proc(5): the command stands in parentheses and may hold spaces; state is field 3, starttime is field 22.
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z' || fields[0] === 'X') return null;
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  return `${boot}/${fields[19]}`;
}

function fromPs(pid: number): string | null {
  const text = execFileSync('/bin/ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  return text === '' || text.startsWith('Z') ? null : text.replace(/^\S+\s+/, '');
}
