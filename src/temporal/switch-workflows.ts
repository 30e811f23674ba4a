import type { Workflows } from './contract.js';

export interface SwitchedWorkflows {
  readonly workflows: Workflows;
  /** From now on everything goes over `next`; what it replaces is closed. */
  use(next: Workflows): Promise<void>;
}

/** One port over changing connections: a client's until the worker's own is there, which can start runs eagerly. */
export function switchWorkflows(first: Workflows): SwitchedWorkflows {
  let current = first;
  return {
    workflows: {
      startRun: (runId) => current.startRun(runId),
      startEval: (evalRunId) => current.startEval(evalRunId),
      whenEvalEnds: (evalRunId, withinMs) => current.whenEvalEnds(evalRunId, withinMs),
      applyPush: (workspaceId) => current.applyPush(workspaceId),
      signalRun: (runId, signal, park) => current.signalRun(runId, signal, park),
      cancelRun: (runId) => current.cancelRun(runId),
      describeRun: (runId) => current.describeRun(runId),
      testTool: (id, signal) => current.testTool(id, signal),
      putSchedule: (wanted) => current.putSchedule(wanted),
      deleteSchedule: (ref) => current.deleteSchedule(ref),
      schedules: () => current.schedules(),
      openRuns: () => current.openRuns(),
      ping: () => current.ping(),
      close: () => current.close(),
    },
    async use(next) {
      const old = current;
      current = next;
      await old.close();
    },
  };
}
