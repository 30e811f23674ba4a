interface Backoff {
  /** The pauses after the first, the second, … failure in a row. */
  readonly seconds: readonly number[];
  /** True if the last pause repeats without end; false gives up after it. */
  readonly forever: boolean;
}

/** The pauses between the attempts of everything that a worker retries by itself. */
const BACKOFF = {
  /** A day in all. */
  notification: { seconds: [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 28_800], forever: false },
  /** Two hours in all. */
  push: { seconds: [5, 30, 120, 600, 1_800, 3_600], forever: false },
  /** A row that could not be processed. */
  row: { seconds: [1, 5, 30], forever: true },
  /** Temporal did not answer. */
  outbox: { seconds: [0.5, 1, 2, 4, 8, 15, 30], forever: true },
  mirror: { seconds: [5, 30, 120, 600, 1_800, 3_600], forever: true },
} as const satisfies Record<string, Backoff>;

/**
 * The pause in ms before the next attempt, after this number of failures in a row (from 1); null to give up. Up to 20 %
 * jitter, so that attempts that failed together do not retry together.
 */
export function backoffMs(kind: keyof typeof BACKOFF, failures: number): number | null {
  const { seconds, forever }: Backoff = BACKOFF[kind];
  const pause = seconds[failures - 1] ?? (forever ? seconds.at(-1) : undefined);
  return pause === undefined ? null : pause * 1_000 * (1 + Math.random() / 5);
}
