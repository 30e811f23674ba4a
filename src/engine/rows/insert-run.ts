import type { Plan } from '../../format/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { toJson } from '../../shared/exact-json.js';
import type { Json, JsonObject } from '../../shared/json.js';
import { toNano } from '../../shared/money.js';

/** A root run. Child runs are written with the journal of their parent (`WRITE`). */
export interface NewRunRow {
  readonly id: string;
  readonly tenantId: string;
  readonly workspaceId: string;
  readonly plan: Plan;
  readonly planId: string;
  readonly revision: string;
  readonly librarySeq: number;
  readonly mode: 'normal' | 'eval';
  readonly input: Json;
  readonly trigger: JsonObject;
  readonly startedBy: Json;
  /** The step to start at; 1 when left out. */
  readonly from?: number;
  /** Beside those of the plan. */
  readonly tags?: readonly string[];
  /** Epoch ms; null for no deadline. */
  readonly deadlineAt: number | null;
  readonly slots?: readonly string[] | null;
  readonly rerun?: { readonly of: string; readonly pos: number; readonly shown: JsonObject } | undefined;
}

/** Inserts a root run, its lane and its first event. */
export async function insertRun(sql: Sql, run: NewRunRow): Promise<void> {
  const { plan, rerun } = run;
  await sql.query({
    name: 'insert-run',
    text: `WITH r AS (
        INSERT INTO run (id, tenant_id, workspace_id, flow, plan_id, revision, root_id, input, trigger, started_by, from_step,
          tags, budget_nano, deadline_at, slots, rerun_of, rerun, library_seq, mode, last_seq)
        VALUES ($1, $2, $3, $4, $5, $6, $1, $7, $8, $9, $10, $11, $12, to_timestamp($13::float8 / 1000), $14, $15, $16, $18, $19, 1)),
      l AS (INSERT INTO lane (run_id, lane, pos) VALUES ($1, 'main', $17))
      INSERT INTO run_event (run_id, seq, type, data) VALUES ($1, 1, 'run.queued', $8)`,
    values: [
      run.id,
      run.tenantId,
      run.workspaceId,
      plan.flow,
      run.planId,
      run.revision,
      toJson(run.input),
      toJson(run.trigger),
      toJson(run.startedBy),
      run.from ?? 1,
      [...new Set([...plan.tags, ...(run.tags ?? [])])],
      plan.budgetUsd === undefined ? null : toNano(plan.budgetUsd),
      run.deadlineAt,
      run.slots ?? null,
      rerun?.of ?? null,
      rerun ? toJson(rerun.shown) : null,
      rerun?.pos ?? 0,
      run.librarySeq,
      run.mode,
    ],
  });
}
