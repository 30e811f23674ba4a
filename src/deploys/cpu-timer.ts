import { readProcStat } from '../shared/proc-stat.js';

/** The maximum wall time, as a multiple of the requested CPU time. */
const LONGEST = 5;
const SHORTEST_LOOK_MS = 20;

/**
 * Calls back when the work has used `ms` of CPU time, or after five times as much wall time: on a busy machine the
 * work gets less CPU. Returns the function that cancels the timer.
 */
export function afterCpuTime(ms: number, then: () => void, cpuMs: () => number = processCpuMs): () => void {
  const start = { at: performance.now(), cpu: cpuMs() };
  let timer = setTimeout(look, ms);
  function look(): void {
    const passed = performance.now() - start.at;
    const lacks = ms - (cpuMs() - start.cpu);
    if (lacks <= 0 || passed >= ms * LONGEST) then();
    else timer = setTimeout(look, Math.max(SHORTEST_LOOK_MS, Math.min(lacks, ms * LONGEST - passed)));
  }
  return () => clearTimeout(timer);
}

/** Linux counts a thread's CPU time in hundredths of a second (proc_pid_stat(5), utime and stime). */
const TICK_MS = 10;

/**
 * The CPU time of one thread, given what `/proc/thread-self` names in it. Elsewhere that of the whole process, which is
 * more.
 */
export function threadCpuMs(thread: string | null): number {
  if (thread === null) return processCpuMs();
  const stat = readProcStat(thread);
  return stat === null ? processCpuMs() : stat.cpuTicks * TICK_MS;
}

function processCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
