import { CancellationScope, condition, patched, workflowInfo } from '@temporalio/workflow';

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
  run.holding ||= shouldHold(run);
  if (run.holding) await condition(() => false);
}

function shouldHold(run: RunState): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  if (!continueAsNewSuggested) return false;
  run.long ??= historyLength;
  // A new execution that begins as many lanes again as filled this one would gain nothing, over and over.
  if (historyLength < 2 * EVENTS_A_LANE * run.lanes) return false;
  // Nobody stands still for a sibling's hour of work, or for a child that waits for a person, before it must be.
  if (run.busy > 0 && historyLength < WAIT_FOR_WORK * run.long) return false;
  if (run.children > 0 && historyLength < WAIT_FOR_CHILDREN * run.long) return false;
  return patched('2026-11-hold-lanes');
}

/** Resolves when all lanes hold and nothing is under way. A cancelled run never gets there: it is left to end. */
export function allAtRest(run: RunState): Promise<void> {
  const root = CancellationScope.current();
  return CancellationScope.nonCancellable(() =>
    condition(() => run.holding && run.busy === 0 && run.children === 0 && !root.consideredCancelled),
  );
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
