/**
 * How long tests wait for what should come. A test awaits the event, not the time: one that waits longer than this beside
 * a full load is stuck, and so no test needs a shorter limit of its own. `run` is for a run's end, within a test.
 */
export const PATIENCE_MS = { test: 300_000, run: 240_000, poll: 120_000 } as const;
