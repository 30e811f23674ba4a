import { readFileSync } from 'node:fs';

/** The state of a process or a thread, from its `stat` file (proc_pid_stat(5)). Linux only. */
export interface ProcStat {
  /** `Z` and `X` mean that it has ended. */
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  /** Its own CPU time so far, in clock ticks. */
  readonly cpuTicks: number;
  /** Start time in clock ticks since boot. */
  readonly startTicks: bigint;
}

/** `task` is a pid, or what `/proc/thread-self` names. Null when there is none. */
export function readProcStat(task: number | string): ProcStat | null {
  let text: string;
  try {
    text = readFileSync(`/proc/${task}/stat`, 'latin1');
  } catch {
    return null;
  }
  // The name, in brackets, may itself hold spaces and brackets: the fields begin after the last one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state = '', parent, group] = fields;
  const start = fields[19];
  if (start === undefined) return null;
  const cpuTicks = Number(fields[11]) + Number(fields[12]);
  return { state, parent: Number(parent), group: Number(group), cpuTicks, startTicks: BigInt(start) };
}

/** True when it has not ended. */
export function isRunning({ state }: ProcStat): boolean {
  return state !== 'Z' && state !== 'X';
}
