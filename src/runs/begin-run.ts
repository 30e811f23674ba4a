import type { Sql } from '../db/contract.js';
import type { Deps } from '../deps.js';
import {
  abortLive,
  admitRun,
  announceRuns,
  assertMonths,
  enqueueOutbox,
  isFull,
  lockSlots,
  type SlotClaim,
  slotOf,
} from '../engine/index.js';
import { toJson } from '../shared/exact-json.js';
import { failpoint } from '../shared/failpoint.js';
import { newId } from '../shared/ids.js';
import type { Json, JsonObject } from '../shared/json.js';
import { toNano } from '../shared/money.js';
import { Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import type { Plan } from '../workspace/index.js';
import type { WorkspaceRow } from '../workspaces/index.js';

/** A root run to start, whatever triggered it. */
export interface NewRun {
  /** An id that was issued before; without it the run gets a new one. */
  readonly id?: string;
  readonly caller: Caller;
  readonly workspace: WorkspaceRow;
  readonly plan: Plan;
  readonly planId: string;
  readonly revision: string;
  readonly librarySeq: number;
  readonly input: Json;
  readonly trigger: JsonObject;
  readonly from: number;
  readonly tags: readonly string[];
  readonly rerun?: { readonly of: string; readonly pos: number; readonly shown: JsonObject };
}

export interface BegunRun {
  readonly runId: string;
  /** Runs to announce after the commit: this one, those that got a slot, and those that were stopped. */
  readonly moved: readonly string[];
  readonly stopped: readonly string[];
}

/**
 * Inserts a run, its lane and its outbox row in the caller's transaction. With the flow's `concurrency` full, the run
 * waits for a slot, or `on_limit: skip` makes no run and returns null. `fill` writes the rows that depend on the run
 * before a worker can start it. Refuses `out_of_credit` when the month's budget is spent.
 */
export async function beginRun(
  deps: Deps,
  sql: Sql,
  run: NewRun,
  fill: (runId: string) => Promise<void> = async () => undefined,
): Promise<BegunRun | null> {
  const at = deps.clock.now();
  await assertMonths(sql, run.workspace.id, at);
  const runId = run.id ?? newId(at);
  const trigger = { at: new Date(at).toISOString(), ...run.trigger };
  const claim = claimOf(run, trigger);
  if (claim) {
    await lockSlots(sql, run.workspace.id);
    if (claim.onLimit === 'skip' && (await isFull(sql, run.workspace.id, claim))) return null;
  }
  await insertRun(sql, { ...run, runId, trigger, at, slots: claim ? [runId] : null });
  await fill(runId);
  if (!claim) {
    await enqueueOutbox(sql, runId, 'start');
    return { runId, moved: [runId], stopped: [] };
  }
  const { granted, stopped } = await admitRun(sql, { id: runId, workspaceId: run.workspace.id }, claim);
  return { runId, moved: [...new Set([runId, ...granted, ...stopped])], stopped };
}

/** Dispatches the outbox after the commit. The answer does not wait for Temporal: a periodic sweep retries. */
export function announceStarted(deps: Deps, { moved, stopped }: BegunRun): void {
  failpoint('run-committed');
  for (const id of stopped) abortLive(id);
  void announceRuns(deps, moved);
}

function claimOf({ plan, input }: NewRun, trigger: JsonObject): SlotClaim | null {
  const claim = slotOf(plan, { input, trigger });
  if (claim !== null && 'fault' in claim) throw new Refusal('refused', claim.fault);
  return claim;
}

interface Row extends NewRun {
  readonly runId: string;
  /** Epoch ms. */
  readonly at: number;
  readonly slots: readonly string[] | null;
}

async function insertRun(sql: Sql, run: Row): Promise<void> {
  const { caller, workspace, plan, at } = run;
  const startedBy = { ...caller.actor, person: caller.person?.id ?? null };
  await sql.query({
    name: 'insert-run',
    text: `WITH r AS (
        INSERT INTO run (id, tenant_id, workspace_id, flow, plan_id, revision, root_id, input, trigger, started_by, from_step,
          tags, budget_nano, deadline_at, slots, rerun_of, rerun, library_seq, last_seq)
        VALUES ($1, $2, $3, $4, $5, $6, $1, $7, $8, $9, $10, $11, $12, to_timestamp($13::float8 / 1000), $14, $15, $16, $18, 1)),
      l AS (INSERT INTO lane (run_id, lane, pos) VALUES ($1, 'main', $17))
      INSERT INTO run_event (run_id, seq, type, data) VALUES ($1, 1, 'run.queued', $8)`,
    values: [
      run.runId,
      workspace.tenantId,
      workspace.id,
      plan.flow,
      run.planId,
      run.revision,
      toJson(run.input),
      toJson(run.trigger),
      toJson(startedBy),
      run.from,
      [...new Set([...plan.tags, ...run.tags])],
      plan.budgetUsd === undefined ? null : toNano(plan.budgetUsd),
      plan.timeoutMs === undefined ? null : at + plan.timeoutMs,
      run.slots,
      run.rerun?.of ?? null,
      run.rerun ? toJson(run.rerun.shown) : null,
      run.rerun?.pos ?? 0,
      run.librarySeq,
    ],
  });
}
