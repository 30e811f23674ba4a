import type { Deps } from '../deps.js';
import {
  abortLive,
  admitRun,
  announceRuns,
  assertMonths,
  enqueueOutbox,
  insertRun,
  isFull,
  lockSlots,
  type SlotClaim,
  slotOf,
} from '../engine/index.js';
import type { Plan } from '../format/index.js';
import type { WorkspaceRow } from '../people/index.js';
import type { Sql } from '../platform/db/contract.js';
import { failpoint } from '../shared/failpoint.js';
import { newId } from '../shared/ids.js';
import type { Json, JsonObject } from '../shared/json.js';
import { Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';

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
  const { caller, workspace, plan } = run;
  await insertRun(sql, {
    ...run,
    id: runId,
    tenantId: workspace.tenantId,
    workspaceId: workspace.id,
    mode: 'normal',
    trigger,
    startedBy: { ...caller.actor, person: caller.person?.id ?? null },
    deadlineAt: plan.timeoutMs === undefined ? null : at + plan.timeoutMs,
    slots: claim ? [runId] : null,
  });
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
