import { readFileSync } from 'node:fs';

/** Linux counts a thread's CPU time in hundredths of a second (proc_pid_stat(5), utime and stime). */
const TICK_MS = 10;

/**
 * The CPU time of one thread, by its name in `/proc/thread-self`; null when it cannot be read. A null name, as outside
 * Linux, returns the CPU time of the whole process, which is more.
 */
export function threadCpuMs(thread: string | null): number | null {
  if (thread === null) return processCpuMs();
  try {
    const stat = readFileSync(`/proc/${thread}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  } catch {
    return null;
  }
}

function processCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
