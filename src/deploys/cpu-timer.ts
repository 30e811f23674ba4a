/** However slowly the machine gives CPU time: as many times the time asked for. */
const LONGEST = 5;
const SHORTEST_LOOK_MS = 20;

/**
 * Calls back when `ms` have passed in which this process had as much CPU time: on a machine that is busy with other
 * things that is later, by up to five times. What burns a whole core is over its time at once. Answers how to end it.
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
