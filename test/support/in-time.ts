const TICK_MS = 25;

/**
 * Whether the work ends, well or not, within so many ms as this process has them: they are counted in short timers, and
 * one that comes late, since the machine is slow or busy, counts no more than one in time. For what this process decides
 * by a timer of its own; how long another process takes to answer is no matter for it.
 */
export async function endsWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  let ended = false;
  const end = () => {
    ended = true;
  };
  work.then(end, end);
  for (let left = ms / TICK_MS; left > 0 && !ended; left -= 1) {
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
    // What was due as well has its turn before this one counts.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return ended;
}
