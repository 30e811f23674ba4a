/** Where a test may have the process killed: security.md, "How it is tested". */
export const FAILPOINTS = [
  'run-committed',
  'outbox-sent',
  'lane-claimed',
  'model-started',
  'model-answered',
  'compaction-started',
  'compaction-answered',
  'tool-started',
  'tool-done',
  'parked',
  'forked',
  'step-done-before-report',
  'slot-waiting',
  'slot-taken',
  'slot-unneeded',
  'decision-committed',
  'signal-sent',
  'objects-written',
  'revision-written',
  'pointer-swapped',
  'credit-inserted',
  'refresh-answered',
] as const;
export type Failpoint = (typeof FAILPOINTS)[number];

let armed: { readonly name: string; left: number } | null = null;

/** `<name>`, or `<name>*<n>` for the n-th time that the process comes by. */
export function isFailpoint(text: string): boolean {
  return readFailpoint(text) !== null;
}

function readFailpoint(text: string): { name: string; left: number } | null {
  const match = /^([a-z-]+)(?:\*(\d{1,4}))?$/.exec(text);
  const name = match?.[1] ?? '';
  return (FAILPOINTS as readonly string[]).includes(name) ? { name, left: Number(match?.[2] ?? 1) } : null;
}

/** Arms one failpoint, or none. Called once, by main.ts, with what the configuration says. */
export function armFailpoint(text: string | null): void {
  armed = text === null ? null : readFailpoint(text);
}

/** Kills the process on the spot (SIGKILL, so that nothing can tidy up) when this failpoint is armed and its turn has come. */
export function failpoint(name: Failpoint): void {
  if (armed?.name !== name) return;
  armed.left -= 1;
  if (armed.left === 0) process.kill(process.pid, 'SIGKILL');
}
