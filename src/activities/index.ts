import { ApplicationFailure, Context } from '@temporalio/activity';
import type { Deps } from '../deps.js';
import { advanceLane, closeRun, isPassing, tellEvents, tickPark } from '../engine/index.js';
import { errorMessage, Refusal } from '../shared/refusal.js';
import type { RunActivities } from '../workflows/contract.js';

const HEARTBEAT_MS = 1_000;

/** What the workflows may ask of this house. */
export function createActivities(deps: Deps): RunActivities {
  return {
    async advance(turn) {
      const { cancellationSignal, info } = Context.current();
      const { heartbeat } = Context.current();
      // A silent model must not look like a dead worker, and only a heartbeat brings the stop.
      const pulse = setInterval(() => heartbeat(), HEARTBEAT_MS);
      try {
        return await advanceLane(deps, turn, info.attempt, cancellationSignal);
      } catch (error) {
        throw asFailure(error, cancellationSignal);
      } finally {
        clearInterval(pulse);
      }
    },
    tick: (park) => tickPark(deps, park),
    async close(runId) {
      await deps.sandbox.kill(runId);
      if (await closeRun(deps.db, runId, 'the run was cut short')) tellEvents(deps, runId);
    },
  };
}

/** A final refusal and a turn that came too late are not tried again; a cancellation stays what it is. */
function asFailure(error: unknown, cancelled: AbortSignal): unknown {
  if (cancelled.aborted) return cancelled.reason ?? error;
  const name = error instanceof Error ? error.name : '';
  if (error instanceof Refusal && !isPassing(error)) return ApplicationFailure.nonRetryable(error.message, error.kind);
  if (name === 'StaleTurn') return ApplicationFailure.nonRetryable(errorMessage(error), name);
  return error;
}
