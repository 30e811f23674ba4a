import type { LivePlan } from '../content/index.js';
import type { Deps } from '../deps.js';
import { inputFaults, type Plan } from '../format/index.js';
import { audit, type WorkspaceRow } from '../people/index.js';
import type { Sql } from '../platform/db/contract.js';
import { type BegunRun, beginRun, checkEnabled } from '../runs/index.js';
import type { Json, JsonObject } from '../shared/json.js';
import { Refusal } from '../shared/refusal.js';
import { outside, type TriggerKind } from './outside.js';

/** Refuses a disabled flow, and one without this trigger. */
export function requireTrigger(plan: Plan, kind: TriggerKind): void {
  checkEnabled(plan);
  if (plan.triggers.includes(kind)) return;
  throw new Refusal('conflict', `flow ${plan.flow} has no trigger: ${kind}, so nothing that comes here starts it`);
}

/** Refuses what does not fit the flow's `input:`. */
export function checkDelivered(plan: Plan, input: Json): void {
  const faults = inputFaults(plan, input);
  if (faults.length > 0) throw new Refusal('refused', `input: ${faults.join('; ')}`, { code: 'input' });
}

export interface Start {
  readonly id: string;
  readonly kind: TriggerKind;
  readonly input: Json;
  readonly trigger: JsonObject;
  readonly address: string | null;
  readonly workspace: WorkspaceRow;
  readonly live: LivePlan;
  /** Writes the rows that belong to the run, before the run can start. */
  readonly fill?: ((sql: Sql) => Promise<void>) | undefined;
}

/** Begins the run of a delivery in the caller's transaction; null when `on_limit: skip` left it out. */
export async function startDelivered(deps: Deps, sql: Sql, start: Start): Promise<BegunRun | null> {
  const { id, kind, input, trigger, address, workspace, live, fill } = start;
  const caller = outside(kind, { tenant: workspace.tenantId, address });
  const run = { id, caller, workspace, ...live, input, trigger, from: 1, tags: [] };
  const begun = await beginRun(deps, sql, run, async () => fill?.(sql));
  if (begun) await audit(sql, caller, 'run.start', begun.runId, { flow: live.plan.flow });
  return begun;
}
