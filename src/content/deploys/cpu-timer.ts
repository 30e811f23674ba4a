import { threadCpuMs } from '../../shared/thread-cpu.js';

/** The maximum wall time, as a multiple of the requested CPU time. */
const LONGEST = 5;
const SHORTEST_LOOK_MS = 20;

/**
 * Calls back when the work has used `ms` of CPU time, or after five times as much wall time: on a busy machine the
 * work gets less CPU. A reading that fails (null) counts no CPU time. The callback comes after the messages that have
 * arrived by then, so that an answer that is there is not cut. Returns the function that cancels the timer.
 */
export function afterCpuTime(
  ms: number,
  then: () => void,
  cpuMs: () => number | null = () => threadCpuMs(null),
): () => void {
  const startedAt = performance.now();
  let last = cpuMs();
  let usedMs = 0;
  let timer = setTimeout(look, ms);
  let end: NodeJS.Immediate | undefined;
  function look(): void {
    const cpu = cpuMs();
    usedMs += cpu === null || last === null ? 0 : cpu - last;
    last = cpu ?? last;
    const passed = performance.now() - startedAt;
    const lacks = ms - usedMs;
    if (lacks <= 0 || passed >= ms * LONGEST) end = setImmediate(then);
    else timer = setTimeout(look, Math.max(SHORTEST_LOOK_MS, Math.min(lacks, ms * LONGEST - passed)));
  }
  return () => {
    clearTimeout(timer);
    clearImmediate(end);
  };
}
