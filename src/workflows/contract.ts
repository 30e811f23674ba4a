import { defineQuery, defineSignal } from '@temporalio/workflow';

/** Everything that crosses the border of a run's workflow. Both sides compile against it. Fields are only ever added. */
export interface LaneRef {
  readonly runId: string;
  readonly lane: string;
}

/** `turn` grows with every advance of the run, over all lanes: a woken old attempt can never claim over its successor. */
export interface Turn extends LaneRef {
  readonly turn: number;
}

/** Where a lane stopped. It carries keys and times (epoch ms), never content: that stays in Postgres. */
export type Stop =
  | { readonly kind: 'done' | 'failed' | 'again' }
  | { readonly kind: 'park'; readonly park: string; readonly wakeAt: number | null }
  | { readonly kind: 'later'; readonly at: number }
  | {
      readonly kind: 'fork';
      readonly fork: string;
      readonly count: number;
      readonly parallel: number;
      readonly join: 'all' | 'any';
      /** The lanes, from 1, that have ended already: they are not begun again. */
      readonly ended?: readonly number[];
    }
  | {
      readonly kind: 'subflow';
      readonly runId: string;
      /** Further children of the lane, side by side with that one. Who follows one at a time is told of the rest again. */
      readonly also?: readonly string[];
    };

export interface RunActivities {
  /** Runs the lane's steps, in sandboxes, up to its next stop. Safe to repeat: the call journal is the truth. */
  advance(turn: Turn): Promise<Stop>;
  /** A park's timer fired: remind, escalate, expire or complete it. A decision that came first stands. */
  tick(park: string): Promise<void>;
  /** Closes the rows of a run that was cut short. */
  close(runId: string): Promise<void>;
}

export interface ToolTestActivities {
  /** Calls the tool of that test once, and writes down what it answered. Never made again: the call may have acted. */
  testTool(id: string): Promise<void>;
}

/** A flow of a workspace, by that one's id. */
export interface FlowRef {
  readonly workspace: string;
  readonly flow: string;
}

export interface ScheduleActivities {
  /** Fires what is due of that flow at this moment (epoch ms), or by our own clock if that is later. Safe to repeat. */
  fireSchedule(ref: FlowRef, at: number): Promise<void>;
}

/** Most that a call of a test may take, and the wait for a worker to take it up, in seconds. */
export const TOOL_TEST_SECONDS = 60;
export const TOOL_TEST_WAIT_SECONDS = 15;

export interface RunInput {
  readonly runId: string;
  /** Kept over continue-as-new. */
  readonly turn?: number;
  /** Lanes that wait for a time, and for which (epoch ms). Kept over continue-as-new. */
  readonly later?: Readonly<Record<string, number>>;
}

/** They wake a run: the decision or the event of this park is already committed. Repeats are harmless. */
export const approval = defineSignal<[park: string]>('approval');
export const event = defineSignal<[park: string]>('event');
/** The parks that hold the run now: for the doctor and for people who look at Temporal's own page. */
export const waiting = defineQuery<readonly string[]>('waiting');

/** A push that waits may be applied now, or another one waits in its place. Repeats are harmless. */
export const look = defineSignal('look');

export interface ApplyPushInput {
  readonly workspaceId: string;
  /** How often it looked in vain. Kept over continue-as-new. */
  readonly looks?: number;
}

export interface PushActivities {
  /** Applies the push that waits in this workspace. `waiting` while runs are live; `done` when none waits any more. */
  applyPendingPush(workspaceId: string): Promise<'waiting' | 'done'>;
}

export interface EvalInput {
  readonly evalRunId: string;
  /** The next attempt to begin. Kept over continue-as-new. */
  readonly from?: number;
}

/** What became of an attempt's beginning: its run is there, or it needs none. `over` ends the eval run. */
export type Begun =
  | { readonly kind: 'run'; readonly runId: string }
  | { readonly kind: 'done' }
  | { readonly kind: 'over' };

export interface EvalActivities {
  /** How many attempts there are. Safe to repeat, as all of these are: rows are the truth. */
  openEval(evalRunId: string): Promise<number>;
  beginAttempt(evalRunId: string, k: number): Promise<Begun>;
  /** `open` while the attempt's run has not ended. */
  gradeAttempt(evalRunId: string, k: number): Promise<'open' | 'graded'>;
  endEval(evalRunId: string): Promise<void>;
  /** Closes the rows of an eval run that was cut short. */
  closeEval(evalRunId: string): Promise<void>;
}
