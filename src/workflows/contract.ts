import { defineQuery, defineSignal } from '@temporalio/workflow';

/** The contract between workflows, activities and clients, which all compile against it. Fields are only ever added. */
export interface LaneRef {
  readonly runId: string;
  readonly lane: string;
}

/**
 * `turn` grows with every advance of the run, across all lanes, so an old attempt that wakes up late cannot claim over
 * its successor.
 */
export interface Turn extends LaneRef {
  readonly turn: number;
  /** The worker that carries on the run's first advance: this turn takes the work over, or waits until it has ended. */
  readonly carriedBy?: string;
}

/** Where a lane stopped. It carries keys and times (epoch ms), never content: that stays in Postgres. */
export type Stop =
  | { readonly kind: 'done' | 'failed' }
  | {
      readonly kind: 'again';
      /** This worker carries the advance on. Only a first advance sets it. */
      readonly carriedBy?: string;
    }
  | { readonly kind: 'park'; readonly park: string; readonly wakeAt: number | null }
  | { readonly kind: 'later'; readonly at: number }
  | {
      readonly kind: 'fork';
      readonly fork: string;
      readonly count: number;
      readonly parallel: number;
      readonly join: 'all' | 'any';
      /** The lanes, from 1, that have already ended. They are not started again. */
      readonly ended?: readonly number[];
    }
  | {
      readonly kind: 'subflow';
      readonly runId: string;
      /**
       * Further children of the lane, which run in parallel with that one. A build that follows one child at a time
       * gets the others at later stops.
       */
      readonly also?: readonly string[];
    };

export interface RunActivities {
  /** Runs the lane's steps, in sandboxes, up to its next stop. Safe to repeat: the call journal is the truth. */
  advance(turn: Turn): Promise<Stop>;
  /**
   * A run's first advance, as a local activity. Answers within `FIRST_ADVANCE_MS`: an advance that takes longer continues
   * in the process, and the next turn takes it over. Also answers `again` when this worker has no room for it.
   */
  begin(turn: Turn): Promise<Stop>;
  /** A park's timer fired: remind, escalate, expire or complete it. A decision that came first counts. */
  tick(park: string): Promise<void>;
  /** Closes the rows of a run that was cut short. */
  close(runId: string): Promise<void>;
}

export interface ToolTestActivities {
  /** Calls the tool of this test once and records the answer. Never retried, since the call may have acted. */
  testTool(id: string): Promise<void>;
}

/** The workflow type of a run whose first advance is a local activity. */
export const RUN_FLOW_LOCAL = 'runFlowLocal';

/** How long a run's first advance holds the run's first workflow task, in ms. After eight seconds it would time out. */
export const FIRST_ADVANCE_MS = 5_000;

/** A flow, with the id of its workspace. */
export interface FlowRef {
  readonly workspace: string;
  readonly flow: string;
}

export interface ScheduleActivities {
  /**
   * Fires the flow's schedules that are due at this time (epoch ms), or by our own clock if that is later. Safe to
   * repeat.
   */
  fireSchedule(ref: FlowRef, at: number): Promise<void>;
}

/** The maximum time of a tool test's call, and of its wait for a worker, in seconds. */
export const TOOL_TEST_SECONDS = 60;
export const TOOL_TEST_WAIT_SECONDS = 15;

export interface RunInput {
  readonly runId: string;
  /** Kept over continue-as-new. */
  readonly turn?: number;
  /** The lanes that wait for a time (epoch ms). Kept over continue-as-new. */
  readonly later?: Readonly<Record<string, number>>;
}

/** Signals that wake a run: the decision or the event of this park is already committed. Repeats are harmless. */
export const approval = defineSignal<[park: string]>('approval');
export const event = defineSignal<[park: string]>('event');
/** The parks that hold the run now, for the doctor and for people who use Temporal's own UI. */
export const waiting = defineQuery<readonly string[]>('waiting');

/** Signals that the waiting push may be applied now, or that another push has replaced it. Repeats are harmless. */
export const look = defineSignal('look');

export interface ApplyPushInput {
  readonly workspaceId: string;
  /** The number of looks so far that applied nothing. Kept over continue-as-new. */
  readonly looks?: number;
}

export interface PushActivities {
  /** Applies the workspace's waiting push. `waiting` while runs are live; `done` when no push waits. */
  applyPendingPush(workspaceId: string): Promise<'waiting' | 'done'>;
}

export interface EvalInput {
  readonly evalRunId: string;
  /** The next attempt to start. Kept over continue-as-new. */
  readonly from?: number;
}

/** The outcome of starting an attempt: it has a run, or needs none. `over` ends the eval run. */
export type Begun =
  | { readonly kind: 'run'; readonly runId: string }
  | { readonly kind: 'done' }
  | { readonly kind: 'over' };

export interface EvalActivities {
  /** The number of attempts. All activities here are safe to repeat: the database has the state. */
  openEval(evalRunId: string): Promise<number>;
  beginAttempt(evalRunId: string, k: number): Promise<Begun>;
  /** `open` while the attempt's run has not ended. */
  gradeAttempt(evalRunId: string, k: number): Promise<'open' | 'graded'>;
  endEval(evalRunId: string): Promise<void>;
  /** Closes the rows of an eval run that was cut short. */
  closeEval(evalRunId: string): Promise<void>;
}
