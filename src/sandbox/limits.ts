const MIB = 1_048_576;

/** What one program may use. Bytes unless the name says otherwise. */
export interface Limits {
  readonly memory: number;
  /** Threads count as processes. */
  readonly processes: number;
  /** Of the whole /work folder, files that are deleted but still open included. */
  readonly work: number;
  readonly workFiles: number;
  readonly file: number;
  readonly tmp: number;
  readonly shm: number;
  readonly openFiles: number;
  /** Of each of stdout and stderr: more than this is cut in the middle. */
  readonly kept: number;
  /** Of both together: more than this kills. */
  readonly output: number;
  /** Sent and received over its network, where it has one. */
  readonly transfer: number;
  /** Of its network, at once. */
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
