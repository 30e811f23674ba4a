const MIB = 1_048_576;

/** What one program may use. Bytes unless the name says otherwise. */
export interface Limits {
  readonly memory: number;
  /** Threads count as processes. */
  readonly processes: number;
  /** The whole /work folder, including files that are deleted but still open. */
  readonly work: number;
  readonly workFiles: number;
  readonly file: number;
  readonly tmp: number;
  readonly shm: number;
  readonly openFiles: number;
  /** The maximum that is kept of stdout and of stderr each; more is cut in the middle. */
  readonly kept: number;
  /** The maximum of stdout and stderr together; more kills the program. */
  readonly output: number;
  /** The maximum that is sent and received over the network. */
  readonly transfer: number;
  /** Concurrent network connections. */
  readonly connections: number;
}

export const DEFAULT_LIMITS: Limits = {
  memory: 1024 * MIB,
  processes: 256,
  work: 1024 * MIB,
  workFiles: 100_000,
  file: 512 * MIB,
  tmp: 256 * MIB,
  shm: 64 * MIB,
  openFiles: 1024,
  kept: MIB,
  output: 10 * MIB,
  transfer: 2048 * MIB,
  connections: 64,
};
