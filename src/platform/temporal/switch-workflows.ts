import type { Log } from '../../shared/log.js';
import type { Workflows } from './contract.js';

export interface SwitchedWorkflows {
  readonly workflows: Workflows;
  /** Sends new calls over `next`. The replaced connection closes in the background, once no call is pending on it. */
  use(next: Workflows): void;
}

/** One port over changing connections: a client's until the worker's own is there, which can start runs eagerly. */
export function switchWorkflows(first: Workflows, log: Log): SwitchedWorkflows {
  let current = first;
  let closing: Promise<void> = Promise.resolve();
  return {
    workflows: {
      startRun: (runId, options) => current.startRun(runId, options),
      startEval: (evalRunId) => current.startEval(evalRunId),
      whenEvalEnds: (evalRunId, withinMs) => current.whenEvalEnds(evalRunId, withinMs),
      applyPush: (workspaceId) => current.applyPush(workspaceId),
      signalRun: (runId, signal, park) => current.signalRun(runId, signal, park),
      cancelRun: (runId) => current.cancelRun(runId),
      terminateRun: (runId, reason) => current.terminateRun(runId, reason),
      describeRun: (runId) => current.describeRun(runId),
      testTool: (id, signal) => current.testTool(id, signal),
      putSchedule: (wanted) => current.putSchedule(wanted),
      deleteSchedule: (ref) => current.deleteSchedule(ref),
      schedules: () => current.schedules(),
      openRuns: () => current.openRuns(),
      ping: () => current.ping(),
      close: async () => {
        await Promise.all([closing, current.close()]);
      },
    },
    use(next) {
      const old = current;
      current = next;
      closing = Promise.all([closing, old.close()]).then(
        () => undefined,
        (err: unknown) => log.warn({ err }, 'failed to close a replaced Temporal connection'),
      );
    },
  };
}
