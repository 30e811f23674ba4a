import type { FlowRef } from '../workflows/contract.js';

/** What a flow's schedule in Temporal is to be. */
export interface WantedSchedule {
  readonly ref: FlowRef;
  /** Which state of ours it stands for. */
  readonly note: string;
  /** The moments (epoch ms) at which it wakes us, rising. */
  readonly times: readonly number[];
  readonly paused: boolean;
  /** Wakes us now as well: a moment has passed of which Temporal did not know. */
  readonly wake: boolean;
}

/** A flow's schedule as Temporal has it. */
export interface KeptSchedule extends Pick<WantedSchedule, 'ref' | 'paused'> {
  readonly note: string | null;
  /** The next few moments, rising. */
  readonly next: readonly number[];
}

export interface OpenRun {
  readonly id: string;
  /** When Temporal started the workflow, or its last continuation (epoch ms). */
  readonly startedAt: number;
}

/** Temporal's schedules: a flow has one or none. Repeats are harmless. */
export interface Schedules {
  putSchedule(wanted: WantedSchedule): Promise<void>;
  /** Success as well when there is none. */
  deleteSchedule(ref: FlowRef): Promise<void>;
  /** All that are ours, from an index that may lag by a second or two. */
  schedules(): AsyncIterable<KeptSchedule>;
}

/** What services ask of Temporal. Repeats are harmless: ids are the run's, and "already started" is success. */
export interface Workflows extends Schedules {
  startRun(runId: string): Promise<void>;
  /** The workflow of an eval's run, whose id is that run's. */
  startEval(evalRunId: string): Promise<void>;
  /** Resolves when that workflow has ended, good or bad, or after so long; also when Temporal cannot say. */
  whenEvalEnds(evalRunId: string, withinMs: number): Promise<void>;
  /** Starts the workflow that applies a workspace's waiting push, or wakes the one that waits. */
  applyPush(workspaceId: string): Promise<void>;
  signalRun(runId: string, signal: 'approval' | 'event', park: string): Promise<void>;
  cancelRun(runId: string): Promise<void>;
  /** Ends the workflow at once, without a turn of its own: for one that has no row to work on. */
  terminateRun(runId: string, reason: string): Promise<void>;
  /** `missing` when Temporal has never heard of it, or has forgotten it. */
  describeRun(runId: string): Promise<'running' | 'closed' | 'missing'>;
  /** Starts the test of a tool and waits for its end, good or bad; an abort cancels it. What came of it is in its row. */
  testTool(id: string, signal: AbortSignal): Promise<void>;
  /** All open run workflows of this task queue, from an index that may lag by a second or two. */
  openRuns(): AsyncIterable<OpenRun>;
  /** False when Temporal does not answer within 2 s. */
  ping(): Promise<boolean>;
  close(): Promise<void>;
}
