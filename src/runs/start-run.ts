import { audit } from '../accounts/index.js';
import type { Sql } from '../db/contract.js';
import type { Deps } from '../deps.js';
import { post, tellEvents, tellNow } from '../engine/index.js';
import { failpoint } from '../shared/failpoint.js';
import { newId } from '../shared/ids.js';
import type { Json } from '../shared/json.js';
import { toNano } from '../shared/money.js';
import { notFound, Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { type Plan, validate } from '../workspace/index.js';
import { findWorkspace, livePlan, type WorkspaceRow } from '../workspaces/index.js';

export interface StartRunInput {
  readonly workspace: string;
  /** `flows/<name>` or `agents/<name>`. */
  readonly target: string;
  readonly task: Json;
  /** Start at step N, 1 for the whole flow. */
  readonly from: number;
  readonly tags: readonly string[];
  /** How it came: `manual`, `webhook`, … with what conditions may read. */
  readonly trigger: { readonly kind: string; readonly [key: string]: Json };
}

export interface StartedRun {
  readonly ok: true;
  readonly runId: string;
  readonly steps: number;
  readonly from: number;
}

/**
 * Starts a run of the live revision. The run, its lane and the word to Temporal are one transaction, so a run that
 * was answered is never lost: with Temporal away it stays `queued` until it is back.
 */
export async function startRun(deps: Deps, caller: Caller, input: StartRunInput): Promise<StartedRun> {
  const started = await deps.db.transaction(async (sql) => {
    const workspace = await findWorkspace(sql, caller, input.workspace, 'share');
    const live = await livePlan(sql, workspace, input.target);
    if (!live) throw notFound(input.target.startsWith('agents/') ? 'agent' : 'flow');
    checkStart(live.plan, input);
    const runId = newId(deps.clock.now());
    await insertRun(deps, sql, { runId, caller, workspace, live, input });
    await post(sql, runId, 'start');
    await audit(sql, caller, 'run.start', runId, { flow: live.plan.flow });
    return { ok: true as const, runId, steps: live.plan.steps, from: input.from };
  });
  failpoint('run-committed');
  tellEvents(deps, started.runId);
  // The answer does not wait for Temporal: what is committed is told now, or by the sweep.
  void tellNow(deps, started.runId);
  return started;
}

function checkStart(plan: Plan, input: StartRunInput): void {
  if (!plan.enabled) throw new Refusal('conflict', `flow ${plan.flow} is switched off: set enabled: true to run it`);
  if (input.from > plan.steps) {
    throw new Refusal(
      'refused',
      `from: ${plan.flow} has ${plan.steps} steps, so it cannot start at step ${input.from}`,
    );
  }
  if (!plan.input) {
    if (typeof input.task !== 'string') {
      throw new Refusal('refused', `task: ${plan.flow} declares no input, so its task is a text`);
    }
    return;
  }
  const faults = validate(plan.input, input.task);
  if (faults.length > 0) throw new Refusal('refused', `task: ${faults.join('; ')}`, { code: 'input' });
}

interface NewRun {
  readonly runId: string;
  readonly caller: Caller;
  readonly workspace: WorkspaceRow;
  readonly live: { readonly planId: string; readonly revision: string; readonly plan: Plan };
  readonly input: StartRunInput;
}

async function insertRun(deps: Deps, sql: Sql, { runId, caller, workspace, live, input }: NewRun): Promise<void> {
  const { plan } = live;
  const now = deps.clock.now();
  const trigger = { at: new Date(now).toISOString(), ...input.trigger };
  const startedBy = { ...caller.actor, person: caller.person?.id ?? null };
  await sql.query({
    name: 'insert-run',
    text: `WITH r AS (
        INSERT INTO run (id, tenant_id, workspace_id, flow, plan_id, revision, root_id, input, trigger, started_by, from_step,
          tags, budget_nano, deadline_at, last_seq)
        VALUES ($1, $2, $3, $4, $5, $6, $1, $7, $8, $9, $10, $11, $12, to_timestamp($13::float8 / 1000), 1)),
      l AS (INSERT INTO lane (run_id, lane) VALUES ($1, 'main'))
      INSERT INTO run_event (run_id, seq, type, data) VALUES ($1, 1, 'run.queued', $8)`,
    values: [
      runId,
      workspace.tenantId,
      workspace.id,
      plan.flow,
      live.planId,
      live.revision,
      JSON.stringify(input.task),
      JSON.stringify(trigger),
      JSON.stringify(startedBy),
      input.from,
      [...new Set([...plan.tags, ...input.tags])],
      plan.budgetUsd === undefined ? null : toNano(plan.budgetUsd),
      plan.timeoutMs === undefined ? null : now + plan.timeoutMs,
    ],
  });
}
