import { type LivePlan, livePlan } from '../content/index.js';
import type { Skipped, Started } from '../contract/runs.js';
import type { Deps } from '../deps.js';
import { inputFaults, type Plan } from '../format/index.js';
import { audit, findWorkspace, type RecordAnswer, type WorkspaceRow } from '../people/index.js';
import type { Sql } from '../platform/db/contract.js';
import type { Json } from '../shared/json.js';
import { notFound, Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { announceStarted, beginRun } from './begin-run.js';

interface StartRunInput {
  readonly workspace: string;
  /** `flows/<name>` or `agents/<name>`. */
  readonly target: string;
  readonly task: Json;
  /** Start at step N, 1 for the whole flow. */
  readonly from: number;
  readonly tags: readonly string[];
  /** The trigger: `manual`, `webhook`, … with the fields that conditions may read. */
  readonly trigger: { readonly kind: string; readonly [key: string]: Json };
  /** Records the answer under the caller's idempotency key, in the transaction of the start. */
  readonly recordAnswer?: RecordAnswer | undefined;
}

export const SKIPPED: Skipped = { ok: true, skipped: true };

/**
 * Starts a run of the live revision. The run, its lane and its outbox row are one transaction, so an accepted run is
 * never lost: while Temporal is down it stays `queued`.
 */
export async function startRun(deps: Deps, caller: Caller, input: StartRunInput): Promise<Started | Skipped> {
  const { target, task, from, tags, trigger } = input;
  const started = await deps.db.transaction(async (sql) => {
    const { workspace, live } = await findTarget(sql, caller, { workspace: input.workspace, target, lock: 'share' });
    checkStart(live.plan, input);
    const begun = await beginRun(deps, sql, { caller, workspace, ...live, input: task, from, tags, trigger });
    if (!begun) return null;
    await audit(sql, caller, 'run.start', begun.runId, { flow: live.plan.flow });
    const answer: Started = { ok: true, runId: begun.runId, steps: live.plan.steps, from };
    await input.recordAnswer?.(sql, answer);
    return { begun, answer };
  });
  if (!started) return SKIPPED;
  announceStarted(deps, started.begun);
  return started.answer;
}

function checkStart(plan: Plan, input: StartRunInput): void {
  checkEnabled(plan);
  if (input.from > plan.steps) {
    throw new Refusal(
      'refused',
      `from: ${plan.flow} has ${plan.steps} steps, so it cannot start at step ${input.from}`,
    );
  }
  if (!plan.input && typeof input.task !== 'string') {
    throw new Refusal('refused', `task: ${plan.flow} declares no input, so its task is a text`);
  }
  checkInput(plan, input.task);
}

/** Refuses a flow that is switched off. */
export function checkEnabled(plan: Plan): void {
  if (!plan.enabled) throw new Refusal('conflict', `flow ${plan.flow} is switched off: set enabled: true to run it`);
}

/** Refuses an input that does not fit what the flow declares. */
export function checkInput(plan: Plan, task: Json): void {
  const faults = inputFaults(plan, task);
  if (faults.length > 0) throw new Refusal('refused', `task: ${faults.join('; ')}`, { code: 'input' });
}

/** Finds `flows/<name>` or `agents/<name>` in the live revision, or refuses it as missing. */
export async function findTarget(
  sql: Sql,
  caller: Caller,
  { workspace: name, target, lock = 'none' }: { workspace: string; target: string; lock?: 'none' | 'share' },
): Promise<{ readonly workspace: WorkspaceRow; readonly live: LivePlan }> {
  const missing = notFound(target.startsWith('agents/') ? 'agent' : 'flow');
  const workspace = await findWorkspace(sql, caller, name, lock);
  // Postgres cannot take every name as a parameter (NUL, for example).
  const live = /^[\w./-]{1,255}$/.test(target) ? await livePlan(sql, workspace, target) : null;
  if (!live) throw missing;
  return { workspace, live };
}
