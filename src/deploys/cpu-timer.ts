/** The maximum wall time, as a multiple of the requested CPU time. */
const LONGEST = 5;
const SHORTEST_LOOK_MS = 20;

/**
 * Calls back when this process has used `ms` of CPU time, or after five times as much wall time: on a busy machine the
 * process gets less CPU. Returns the function that cancels the timer.
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

function processCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
