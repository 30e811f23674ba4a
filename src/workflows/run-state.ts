import { CancellationScope, condition, makeContinueAsNewFunc, patched, workflowInfo } from '@temporalio/workflow';
import type { runFlow } from './run-flow.js';

/** The state of one workflow execution. All of it can be read again from the database. */
export interface RunState {
  /** Parks whose signal has arrived and whose lane has not continued yet. */
  readonly woken: Set<string>;
  readonly open: Set<string>;
  /** Lanes that wait for a time (epoch ms). A new execution waits for the remaining time. */
  readonly later: Map<string, number>;
  turn: number;
  /** True until the first advance of a run of the local type has begun. */
  isLocal: boolean;
  /** The worker that carries on the first advance, until the next turn. */
  carriedBy: string | null;
  /** Lanes that have started and not ended. */
  lanes: number;
  /** Running activities, and running child workflows. */
  busy: number;
  children: number;
  /** The history length when the server first suggested continue-as-new. */
  long: number | null;
  /** True when every lane holds at its position until a new execution starts it again. */
  holding: boolean;
}

/** While an activity runs, lanes do not hold until the history is this many times `long`. */
const WAIT_FOR_WORK = 2;
/**
 * The same while a child runs, which may take weeks. By the server's defaults `long` is 4,096 events, so the history
 * never reaches the limit of 51,200.
 */
const WAIT_FOR_CHILDREN = 8;
/** An upper bound: a restarted lane adds the three events of an activity and the three of a workflow task. */
const EVENTS_A_LANE = 7;

interface Beginning {
  readonly turn: number;
  readonly later: Readonly<Record<string, number>>;
  readonly isLocal: boolean;
}

export function newRunState({ turn, later, isLocal }: Beginning): RunState {
  return {
    woken: new Set(),
    open: new Set(),
    later: new Map(Object.entries(later)),
    turn,
    isLocal,
    carriedBy: null,
    lanes: 0,
    busy: 0,
    children: 0,
    long: null,
    holding: false,
  };
}

/**
 * A point where a lane may be handed over: before an advance and before a child. The lane continues at once unless the
 * history is long. Then it holds here, as other lanes do between advances, at parks and in waits, until a new execution takes
 * all of them over.
 */
export async function holdIfDue(run: RunState): Promise<void> {
  run.holding ||= isTimeToHold(run) && mayHold(run);
  if (run.holding) await condition(() => false);
}

function isTimeToHold(run: RunState): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  if (!continueAsNewSuggested) return false;
  run.long ??= historyLength;
  // With this many lanes, starting them again would fill the next history as quickly, again and again.
  if (historyLength < 2 * EVENTS_A_LANE * run.lanes) return false;
  // Holding would stop this lane for a sibling's hour of work, or for a child that waits for a person. Wait until it is
  // needed.
  if (run.busy > 0 && historyLength < WAIT_FOR_WORK * run.long) return false;
  return run.children === 0 || historyLength >= WAIT_FOR_CHILDREN * run.long;
}

/**
 * False while workers of another build live, which could not replay it. `patched` remembers its answer while the
 * execution is cached, so it is asked again under a new id each time the history has doubled.
 */
function mayHold({ long }: RunState): boolean {
  const { historyLength } = workflowInfo();
  return patched(`2026-11-hold-lanes-${Math.floor(Math.log2(historyLength / (long ?? historyLength)))}`);
}

/**
 * Whether the main lane, alone, may continue as new between two stops, where no lane has to hold. Release 0.1.0 did the
 * same, so its workers can replay it.
 */
export function canContinueAsNew(run: RunState): boolean {
  return run.lanes === 1 && !run.holding && workflowInfo().continueAsNewSuggested;
}

/** Resolves when all lanes hold and nothing runs. Never resolves for a cancelled run, which ends by itself. */
export function allLanesHold(run: RunState): Promise<void> {
  const root = CancellationScope.current();
  return CancellationScope.nonCancellable(() =>
    condition(() => run.holding && run.busy === 0 && run.children === 0 && !root.consideredCancelled),
  );
}

// Also for a run of the local type, whose first advance is over.
const continueAsNew = makeContinueAsNewFunc<typeof runFlow>({ workflowType: 'runFlow' });

/**
 * Continues as new, with an empty history. The new execution starts each open lane with `advance`, which reads the
 * lane's position from the database, including a decision whose signal arrives at this moment. Never returns.
 */
export function continueRunAsNew(runId: string, { turn, later }: RunState): Promise<never> {
  const kept = later.size === 0 ? {} : { later: Object.fromEntries(later) };
  return continueAsNew({ runId, turn, ...kept });
}

/** Counts running work, during which the workflow must not continue as new. */
export async function during<T>(run: RunState, kind: 'busy' | 'children', work: () => Promise<T>): Promise<T> {
  run[kind] += 1;
  try {
    return await work();
  } finally {
    run[kind] -= 1;
  }
}
