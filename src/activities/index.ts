import { ApplicationFailure, Context } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import type { Deps } from '../deps.js';
import {
  CarriedElsewhere,
  closeRun,
  type FirstAdvances,
  isTransient,
  notifyStreams,
  runToolTest,
  tickPark,
} from '../engine/index.js';
import { evalWork, JudgePostponed } from '../evals/index.js';
import { applyPendingPush } from '../remotes/index.js';
import { errorMessage, Refusal } from '../shared/refusal.js';
import { fireSchedule } from '../triggers/index.js';
import type {
  EvalActivities,
  PushActivities,
  RunActivities,
  ScheduleActivities,
  ToolTestActivities,
} from '../workflows/contract.js';

const HEARTBEAT_MS = 1_000;

/** How soon an advance asks again whether another worker still carries it on. */
const LOOK_AGAIN_MS = 1_000;

/** The activities that workflows call. `firstAdvances` belong to the worker that they are created for. */
export function createActivities(
  deps: Deps,
  firstAdvances: FirstAdvances,
): RunActivities & ToolTestActivities & EvalActivities & ScheduleActivities & PushActivities {
  return {
    async advance(turn) {
      const { cancellationSignal, info } = Context.current();
      try {
        return await withHeartbeat(() =>
          firstAdvances.advance(turn, { attempt: info.attempt, cancelled: cancellationSignal }),
        );
      } catch (error) {
        throw asFailure(error, cancellationSignal);
      }
    },
    // Ignores its cancellation: it answers soon, and the cancelled run closes its rows, which ends the work.
    begin: (turn) => firstAdvances.begin(turn),
    testTool: (id) => withHeartbeat(() => runToolTest(deps, id, Context.current().cancellationSignal)),
    fireSchedule: (ref, at) => withHeartbeat(() => fireSchedule(deps, ref, at)),
    applyPendingPush: (workspaceId) => withHeartbeat(() => applyPendingPush(deps, workspaceId)),
    tick: (park) => tickPark(deps, park),
    async close(runId) {
      await deps.sandbox.kill(runId);
      if (await closeRun(deps.db, runId, 'the run was cut short')) notifyStreams(deps, runId);
    },
    openEval: (evalRunId) => evalWork.open(deps, evalRunId),
    beginAttempt: (evalRunId, k) => evalWork.begin(deps, { evalRunId, k }),
    async gradeAttempt(evalRunId, k) {
      const { cancellationSignal } = Context.current();
      try {
        return await withHeartbeat(() => evalWork.grade(deps, { evalRunId, k }, cancellationSignal));
      } catch (error) {
        throw asFailure(error, cancellationSignal);
      }
    },
    endEval: (evalRunId) => evalWork.end(deps, evalRunId),
    closeEval: (evalRunId) => evalWork.close(deps, evalRunId),
  };
}

/**
 * Heartbeats while the work lasts: a silent model must not look like a dead worker, and cancellation arrives with a
 * heartbeat.
 */
async function withHeartbeat<T>(work: () => Promise<T>): Promise<T> {
  const { heartbeat } = Context.current();
  const pulse = setInterval(() => heartbeat(), HEARTBEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(pulse);
  }
}

/** A failure that only postpones the work. The SDK logs no warning for it. */
function postponed({ message, name }: Error) {
  return { message, type: name, category: ApplicationFailureCategory.BENIGN };
}

/**
 * Final refusals and stale turns are not retried; postponed work is, at its time. A cancellation is passed on
 * unchanged.
 */
function asFailure(error: unknown, cancelled: AbortSignal): unknown {
  if (cancelled.aborted) return cancelled.reason ?? error;
  if (error instanceof JudgePostponed)
    return ApplicationFailure.create({ ...postponed(error), nextRetryDelay: error.waitMs });
  if (error instanceof CarriedElsewhere)
    return ApplicationFailure.create({ ...postponed(error), nextRetryDelay: LOOK_AGAIN_MS });
  const name = error instanceof Error ? error.name : '';
  if (error instanceof Refusal && !isTransient(error))
    return ApplicationFailure.nonRetryable(error.message, error.kind);
  if (name === 'StaleTurn') return ApplicationFailure.nonRetryable(errorMessage(error), name);
  return error;
}
