/** Where a test may have the process killed: security.md, "How it is tested". */
export const FAILPOINTS = [
  'run-committed',
  'outbox-sent',
  'step-done-before-report',
  'decision-committed',
  'signal-sent',
  'objects-written',
  'revision-written',
  'pointer-swapped',
  'credit-inserted',
  'refresh-answered',
] as const;
export type Failpoint = (typeof FAILPOINTS)[number];

let armed: Failpoint | null = null;

export function isFailpoint(name: string): name is Failpoint {
  return (FAILPOINTS as readonly string[]).includes(name);
}

/** Arms one failpoint, or none. Called once, by main.ts, with what the configuration says. */
export function armFailpoint(name: Failpoint | null): void {
  armed = name;
}

/** Kills the process on the spot (SIGKILL, so that nothing can tidy up) when this failpoint is armed. */
export function failpoint(name: Failpoint): void {
  if (armed === name) process.kill(process.pid, 'SIGKILL');
}
