import type { RunStatus, RunSummary, RunView } from '../contract/runs.js';
import type { RunRow } from '../platform/db/contract.js';
import { toUsd } from '../shared/money.js';

export interface ShownRun
  extends Pick<
    RunRow,
    | 'id'
    | 'flow'
    | 'planId'
    | 'revision'
    | 'parentId'
    | 'rootId'
    | 'stopped'
    | 'input'
    | 'trigger'
    | 'startedBy'
    | 'fromStep'
    | 'tags'
    | 'error'
    | 'summary'
    | 'lastSeq'
    | 'budgetNano'
    | 'spentNano'
    | 'memoryWrites'
    | 'rerunOf'
    | 'createdAt'
    | 'startedAt'
    | 'finishedAt'
  > {
  readonly status: RunStatus;
  readonly rerun: RunView['rerun'] | null;
  /** Null in rows of older versions. */
  readonly slots: RunRow['slots'] | null;
  readonly waitsForSlot: boolean;
}

export const RUN_COLUMNS = `id, flow, plan_id AS "planId", revision, parent_id AS "parentId", root_id AS "rootId", status, stopped, input, trigger,
  started_by AS "startedBy", from_step AS "fromStep", tags, error, summary, last_seq AS "lastSeq", budget_nano AS "budgetNano",
  spent_nano AS "spentNano", coalesce(memory_writes, '{}') AS "memoryWrites", rerun_of AS "rerunOf", rerun, slots, created_at AS "createdAt",
  started_at AS "startedAt", finished_at AS "finishedAt",
  (slots <> '{}' AND finished_at IS NULL AND EXISTS (SELECT 1 FROM slot_lane q
    WHERE q.run_id = run.id AND q.state = 'waiting')) IS TRUE AS "waitsForSlot"`;

export function summaryOf(run: ShownRun): RunSummary {
  const { startedAt, finishedAt } = run;
  return {
    id: run.id,
    flow: run.flow,
    status: run.status,
    stopped: run.stopped,
    createdAt: run.createdAt.toISOString(),
    startedAt: startedAt?.toISOString() ?? null,
    finishedAt: finishedAt?.toISOString() ?? null,
    durationMs: startedAt && finishedAt ? finishedAt.getTime() - startedAt.getTime() : null,
    summary: run.summary,
    error: run.error,
    costUsd: toUsd(run.spentNano),
    tags: run.tags,
    parentId: run.parentId,
    waitsForSlot: run.waitsForSlot,
  };
}
