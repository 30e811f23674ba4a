/** What services ask of Temporal. Repeats are harmless: ids are the run's, and "already started" is success. */
export interface Workflows {
  startRun(runId: string): Promise<void>;
  /** The workflow of an eval's run, whose id is that run's. */
  startEval(evalRunId: string): Promise<void>;
  signalRun(runId: string, signal: 'approval' | 'event', park: string): Promise<void>;
  cancelRun(runId: string): Promise<void>;
  /** `missing` when Temporal has never heard of it, or has forgotten it. */
  describeRun(runId: string): Promise<'running' | 'closed' | 'missing'>;
  /** Starts the test of a tool and waits for its end, good or bad; an abort cancels it. What came of it is in its row. */
  testTool(id: string, signal: AbortSignal): Promise<void>;
  /** Ids of all open run workflows. */
  openRuns(): AsyncIterable<string>;
  /** False when Temporal does not answer within 2 s. */
  ping(): Promise<boolean>;
  close(): Promise<void>;
}
