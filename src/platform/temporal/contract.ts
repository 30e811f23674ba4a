import type { FlowRef } from '../../workflows/contract.js';

/** The desired state of a flow's schedule in Temporal. */
export interface WantedSchedule {
  readonly ref: FlowRef;
  /** The version of the row that this state was made from. */
  readonly note: string;
  /** The moments (epoch ms) at which it wakes us, ascending. */
  readonly times: readonly number[];
  readonly paused: boolean;
  /** True to wake us now as well: a moment has passed that Temporal did not know. */
  readonly wake: boolean;
}

/** A flow's schedule as it is in Temporal. */
export interface KeptSchedule extends Pick<WantedSchedule, 'ref' | 'paused'> {
  readonly note: string | null;
  /** The next moments, ascending. */
  readonly next: readonly number[];
}

export interface OpenRun {
  readonly id: string;
  /** When Temporal started the workflow, or its last continuation (epoch ms). */
  readonly startedAt: number;
}

/** Temporal's schedules. A flow has at most one. All calls are idempotent. */
export interface Schedules {
  putSchedule(wanted: WantedSchedule): Promise<void>;
  /** Also succeeds when there is none. */
  deleteSchedule(ref: FlowRef): Promise<void>;
  /** All schedules of this installation, from an index that may lag by a second or two. */
  schedules(): AsyncIterable<KeptSchedule>;
}

/**
 * The service's interface to Temporal. All calls are idempotent: workflow ids are run ids, and "already started" is
 * success.
 */
export interface Workflows extends Schedules {
  /** `isAgain`: Temporal lost the run, and it starts once more from its rows. */
  startRun(runId: string, options?: { readonly isAgain?: boolean }): Promise<void>;
  /** Starts the workflow of an eval run. Its id is the eval run's. */
  startEval(evalRunId: string): Promise<void>;
  /**
   * Resolves when that workflow has ended, with success or failure, after the given time, or when Temporal is
   * unavailable.
   */
  whenEvalEnds(evalRunId: string, withinMs: number): Promise<void>;
  /** Starts the workflow that applies a workspace's waiting push, or signals the one that waits. */
  applyPush(workspaceId: string): Promise<void>;
  signalRun(runId: string, signal: 'approval' | 'event', park: string): Promise<void>;
  cancelRun(runId: string): Promise<void>;
  /** Terminates a workflow without another workflow task: for workflows without a row. */
  terminateRun(runId: string, reason: string): Promise<void>;
  /** `missing` when Temporal does not, or no longer, know the workflow. */
  describeRun(runId: string): Promise<'running' | 'closed' | 'missing'>;
  /**
   * Starts the test of a tool and waits for its end, with success or failure. An abort cancels it. The result is in its
   * row.
   */
  testTool(id: string, signal: AbortSignal): Promise<void>;
  /** All open run workflows of this task queue, from an index that may lag by a second or two. */
  openRuns(): AsyncIterable<OpenRun>;
  /** False when Temporal does not answer within 2 s. */
  ping(): Promise<boolean>;
  close(): Promise<void>;
}
