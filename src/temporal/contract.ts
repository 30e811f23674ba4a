/** What services ask of Temporal. Repeats are harmless: ids are the run's, and "already started" is success. */
export interface Workflows {
  startRun(runId: string): Promise<void>;
  signalRun(runId: string, signal: 'approval' | 'event', park: string): Promise<void>;
  cancelRun(runId: string): Promise<void>;
  /** `missing` when Temporal has never heard of it, or has forgotten it. */
  describeRun(runId: string): Promise<'running' | 'closed' | 'missing'>;
  /** Ids of all open run workflows. */
  openRuns(): AsyncIterable<string>;
  /** False when Temporal does not answer within 2 s. */
  ping(): Promise<boolean>;
  close(): Promise<void>;
}
