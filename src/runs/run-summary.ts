import type { RunStatus, RunSummary, RunView } from '../contract/runs.js';
import type { Json } from '../shared/json.js';
import { toUsd } from '../shared/money.js';

export interface RunRow {
  readonly id: string;
  readonly flow: string;
  readonly planId: string;
  readonly revision: string;
  readonly parentId: string | null;
  readonly rootId: string;
  readonly status: RunStatus;
  readonly stopped: boolean;
  readonly input: Json;
  readonly trigger: Json;
  readonly startedBy: Json;
  readonly fromStep: number;
  readonly tags: readonly string[];
  readonly error: string | null;
  readonly summary: string | null;
  readonly lastSeq: bigint;
  readonly budgetNano: bigint | null;
  readonly spentNano: bigint;
  readonly memoryWrites: readonly string[];
  readonly rerunOf: string | null;
  readonly rerun: RunView['rerun'] | null;
  readonly slots: readonly string[] | null;
  readonly waitsForSlot: boolean;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
}

export const RUN_COLUMNS = `id, flow, plan_id AS "planId", revision, parent_id AS "parentId", root_id AS "rootId", status, stopped, input, trigger,
  started_by AS "startedBy", from_step AS "fromStep", tags, error, summary, last_seq AS "lastSeq", budget_nano AS "budgetNano",
  spent_nano AS "spentNano", coalesce(memory_writes, '{}') AS "memoryWrites", rerun_of AS "rerunOf", rerun, slots, created_at AS "createdAt",
  started_at AS "startedAt", finished_at AS "finishedAt",
  (slots <> '{}' AND finished_at IS NULL AND EXISTS (SELECT 1 FROM slot_lane q
    WHERE q.run_id = run.id AND q.state = 'waiting')) IS TRUE AS "waitsForSlot"`;

export function summaryOf(run: RunRow): RunSummary {
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
