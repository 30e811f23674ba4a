import { CancellationScope, condition, continueAsNew, patched, workflowInfo } from '@temporalio/workflow';
import type { runFlow } from './run-flow.js';

/** What one execution knows of its run besides the rows; all of it can be read from them again. */
export interface RunState {
  /** Parks that a signal told of, and whose lane has not gone on yet. */
  readonly woken: Set<string>;
  readonly open: Set<string>;
  /** Lanes that wait for a time, and for which (epoch ms): another execution waits for the rest of it. */
  readonly later: Map<string, number>;
  turn: number;
  /** Lanes that began and have not ended. */
  lanes: number;
  /** Activities and children that are under way. */
  busy: number;
  children: number;
  /** How many events there were when the server first advised a new execution. */
  long: number | null;
  /** Every lane stays where it stands, until a new execution begins each again. */
  holding: boolean;
}

/** How much longer than the server first called long a history may get before the lanes wait for one at work. */
const WAIT_FOR_WORK = 2;
/** And before they wait for a child, which may take weeks. By the server's defaults: 4,096 events, and never 51,200. */
const WAIT_FOR_CHILDREN = 8;
/** At most: a lane that begins again costs an activity's three events, and the three of a task of its own. */
const EVENTS_A_LANE = 7;

export function newRunState(turn: number, later: Readonly<Record<string, number>>): RunState {
  return {
    woken: new Set(),
    open: new Set(),
    later: new Map(Object.entries(later)),
    turn,
    lanes: 0,
    busy: 0,
    children: 0,
    long: null,
    holding: false,
  };
}

/**
 * Where a lane may be left: before an advance and before a child. It goes on at once, unless the history has become
 * long; then it stays here, as all others do at their borders, parks and waits, until a new execution takes them over.
 */
export async function border(run: RunState): Promise<void> {
  run.holding ||= isTimeToHold(run) && mayHold(run);
  if (run.holding) await condition(() => false);
}

function isTimeToHold(run: RunState): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  if (!continueAsNewSuggested) return false;
  run.long ??= historyLength;
  // A new execution that begins as many lanes again as filled this one would gain nothing, over and over.
  if (historyLength < 2 * EVENTS_A_LANE * run.lanes) return false;
  // Nobody stands still for a sibling's hour of work, or for a child that waits for a person, before it must be.
  if (run.busy > 0 && historyLength < WAIT_FOR_WORK * run.long) return false;
  return run.children === 0 || historyLength >= WAIT_FOR_CHILDREN * run.long;
}

/**
 * False while workers of another build live. What they are told once holds for as long as the execution is cached, so
 * it is asked again under another name each time that the history has doubled.
 */
function mayHold({ long }: RunState): boolean {
  const { historyLength } = workflowInfo();
  return patched(`2026-11-hold-lanes-${Math.floor(Math.log2(historyLength / (long ?? historyLength)))}`);
}

/** What 0.1.0 did, and what its workers can replay: between two stops of the main lane there is nothing to hold. */
export function isTimeToBeginAnew(run: RunState): boolean {
  return run.lanes === 1 && !run.holding && workflowInfo().continueAsNewSuggested;
}

/** Resolves when all lanes hold and nothing is under way. A cancelled run never gets there: it is left to end. */
export function allAtRest(run: RunState): Promise<void> {
  const root = CancellationScope.current();
  return CancellationScope.nonCancellable(() =>
    condition(() => run.holding && run.busy === 0 && run.children === 0 && !root.consideredCancelled),
  );
}

/**
 * Leaves the rest of the run to a new execution with an empty history: it begins each open lane with `advance`, which
 * reads from the rows where the lane stands, a decision whose signal came in this moment included. Never returns.
 */
export function beginAnew(runId: string, { turn, later }: RunState): Promise<never> {
  const kept = later.size === 0 ? {} : { later: Object.fromEntries(later) };
  return continueAsNew<typeof runFlow>({ runId, turn, ...kept });
}

/** Counts work that a new execution must not begin beside. */
export async function during<T>(run: RunState, kind: 'busy' | 'children', work: () => Promise<T>): Promise<T> {
  run[kind] += 1;
  try {
    return await work();
  } finally {
    run[kind] -= 1;
  }
}
