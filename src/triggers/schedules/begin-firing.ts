import { livePlan } from '../../content/index.js';
import type { Deps } from '../../deps.js';
import { audit, type WorkspaceRow } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { type BegunRun, beginRun, checkEnabled, checkInput } from '../../runs/index.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import type { FlowRef } from '../../workflows/contract.js';
import type { LeftOut } from './due-times.js';
import { inputOf, type Outcome } from './schedule-row.js';

interface Begun {
  readonly firing: Firing;
  /** To be announced after the transaction commits. */
  readonly run: BegunRun | null;
}

/** Refusals that a retry cannot fix: they are recorded as the outcome. */
const FINAL = new Set<Refusal['kind']>(['out_of_credit', 'refused', 'conflict']);

/** Starts the run of one due time in the caller's transaction, or returns why it did not. */
export async function beginFiring(
  deps: Deps,
  sql: Sql,
  { workspace, flow, at }: { readonly workspace: WorkspaceRow; readonly flow: string; readonly at: number },
): Promise<Begun> {
  try {
    const run = await beginScheduled(deps, sql, { caller: clockOf(workspace.tenantId), workspace, flow, at });
    if (!run)
      return { firing: { at, outcome: 'skipped', reason: 'as many runs as `concurrency` allows are at work' }, run };
    return { firing: { at, outcome: 'started', runId: run.runId }, run };
  } catch (error) {
    if (!(error instanceof Refusal) || !FINAL.has(error.kind)) throw error;
    return { firing: { at, outcome: 'refused', reason: error.message.slice(0, 1_000) }, run: null };
  }
}

/** Starts a run of the live flow for that time, with the same checks as a manual start. */
export async function beginScheduled(
  deps: Deps,
  sql: Sql,
  { caller, workspace, flow, at }: { caller: Caller; workspace: WorkspaceRow; flow: string; at: number },
): Promise<BegunRun | null> {
  const live = await livePlan(sql, workspace, `flows/${flow}`);
  if (!live) throw new Refusal('conflict', `flow ${flow} is not in the live revision`);
  const input = inputOf(at);
  checkEnabled(live.plan);
  checkInput(live.plan, input);
  const trigger = { kind: 'schedule', ...input };
  const run = await beginRun(deps, sql, { caller, workspace, ...live, input, from: 1, tags: [], trigger });
  if (run) await audit(sql, caller, 'run.start', run.runId, { flow });
  return run;
}

/** The clock as a caller. It is not a person, so every person who may decide a gate may decide the run's gates. */
function clockOf(tenant: string): Caller {
  return {
    tenant,
    role: 'editor',
    workspaces: null,
    actor: { kind: 'clock', id: 'schedule', label: 'schedule' },
    person: null,
    signedIn: false,
    address: null,
  };
}

const KEPT_DAYS = 90;

interface Firing {
  readonly at: number;
  readonly outcome: Outcome;
  readonly reason?: string | undefined;
  readonly runId?: string | undefined;
}

/** Records the outcome of a due time. Its key is the flow and the time, so a second run for it cannot be recorded. */
export async function recordFiring(sql: Sql, ref: FlowRef, firing: Firing): Promise<void> {
  await sql.query({
    name: 'record-firing',
    text: `INSERT INTO firing (workspace_id, flow, scheduled_for, outcome, reason, run_id)
      VALUES ($1, $2, to_timestamp($3::float8 / 1000), $4, $5, $6)`,
    values: [ref.workspace, ref.flow, firing.at, firing.outcome, firing.reason ?? null, firing.runId ?? null],
  });
}

/** Records times that were left out together, as one row. */
export async function recordLeftOut(
  sql: Sql,
  ref: FlowRef,
  { first, last, times }: LeftOut,
  reason: string,
): Promise<void> {
  await sql.query({
    name: 'record-left-out',
    text: `INSERT INTO firing (workspace_id, flow, scheduled_for, until, times, outcome, reason)
      VALUES ($1, $2, to_timestamp($3::float8 / 1000), to_timestamp($4::float8 / 1000), $5, 'skipped', $6)`,
    values: [ref.workspace, ref.flow, first, last, times, reason],
  });
}

/** Deletes old firings. */
export async function deleteOldFirings(sql: Sql, { workspace, flow }: FlowRef): Promise<void> {
  await sql.query({
    name: 'forget-firings',
    text: `DELETE FROM firing WHERE workspace_id = $1 AND flow = $2 AND outcome <> 'waiting'
      AND scheduled_for < now() - $3 * interval '1 day'`,
    values: [workspace, flow, KEPT_DAYS],
  });
}
