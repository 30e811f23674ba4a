import { newId } from '../../shared/ids.js';
import type { Json } from '../../shared/json.js';
import { toNano } from '../../shared/money.js';
import { fillWith, validate } from '../../workspace/index.js';
import type { Plan, StepPlan } from '../../workspace/model.js';
import { loadPlan } from '../../workspaces/index.js';
import { openPool, stepKeyOf } from '../agent/pools.js';
import { TOO_LONG } from '../clocks/end-overdue.js';
import { StepFailure } from '../errors.js';
import { deadlineOf } from '../lane/deadline.js';
import type { Lane, StepState } from '../lane/lane.js';
import { leavesOf } from '../lane/lane-plan.js';
import { scopeOf } from '../lane/scope.js';
import { childSlots } from '../slots/child-slots.js';
import type { Doer, Done } from './kinds.js';

interface ChildRow {
  readonly status: string;
  readonly error: string | null;
  readonly planId: string;
  readonly spent: bigint;
  readonly ended: boolean;
  /** Ended by the timeout of this step. */
  readonly overdue: boolean;
}

/**
 * A child run of its own record: its cost counts as the step's. What this run, and those above it, have left holds its
 * calls besides its own flow's budget: see readPools.
 */
export const runSubflow: Doer = async (lane, step, state) => {
  const { child } = lane.writer.memory;
  return child === undefined ? startChild(lane, step, state) : readChild(lane, child, state);
};

async function startChild(lane: Lane, step: StepPlan, state: StepState): Promise<Done> {
  const target = `flows/${step.subflow}`;
  const pinned = await pinnedPlan(lane, target);
  if (!pinned) throw new StepFailure(`there is no flow ${step.subflow} in the revision of this run`);
  const input = childInput(lane, step);
  const faults = pinned.plan.input ? validate(pinned.plan.input, input) : [];
  if (faults.length > 0) throw new StepFailure(`the input of ${step.subflow} does not fit: ${faults.join('; ')}`);
  if (step.budgetUsd !== undefined) await capStep(lane, step.id, step.budgetUsd);
  const id = newId();
  lane.writer.memory = { ...lane.writer.memory, child: id };
  lane.writer.state = 'child';
  lane.writer.batch.children.push({
    id,
    flow: pinned.plan.flow,
    plan: pinned.planId,
    input,
    step: step.id,
    budget: pinned.plan.budgetUsd === undefined ? null : String(toNano(pinned.plan.budgetUsd)),
    deadline: childDeadline(lane, pinned.plan.timeoutMs),
    tags: pinned.plan.tags,
    limit: step.timeoutMs ?? null,
    clocks: [...(lane.run.clocks ?? []), ...(step.timeoutMs === undefined ? [] : [id])],
    slots: await childSlots(lane, { id, plan: pinned.plan, step: step.id, input }),
  });
  lane.writer.event('step.subflow', { step: step.id, item: state.item, round: state.round, runId: id });
  await lane.writer.flush();
  return { kind: 'stop', stop: { kind: 'subflow', runId: id } };
}

/** The plan of a flow in the revision that this run is pinned to. */
async function pinnedPlan(lane: Lane, target: string): Promise<{ planId: string; plan: Plan } | null> {
  const { workspaceId, revision } = lane.run;
  const [row] = await lane.deps.db.query<{ planId: string | null }>(
    'SELECT plans->>$3::text AS "planId" FROM revision WHERE workspace_id = $1 AND id = $2',
    [workspaceId, revision, target],
  );
  if (!row?.planId) return null;
  return { planId: row.planId, plan: await loadPlan(lane.deps, workspaceId, row.planId) };
}

function childInput(lane: Lane, step: StepPlan): Json {
  return step.with === undefined ? (lane.run.input ?? null) : fillWith(step.with, scopeOf(lane));
}

/** All rounds and items of a step count under its budget: what runs under it finds the cap in this row. */
async function capStep(lane: Lane, step: string, budgetUsd: number): Promise<void> {
  const { id: runId } = lane.run;
  await openPool(lane, { key: stepKeyOf(runId, step), runId, steps: [step], cap: toNano(budgetUsd) });
}

function childDeadline(lane: Lane, timeoutMs: number | undefined): number | null {
  const own = timeoutMs === undefined ? null : lane.deps.clock.now() + timeoutMs;
  const ours = deadlineOf(lane);
  if (own === null || ours === null) return own ?? ours;
  return Math.min(own, ours);
}

/** For a step that ends without its child's end: what that one has spent counts all the same. */
export async function bookChild(lane: Lane, state: StepState): Promise<void> {
  const { child } = lane.writer.memory;
  const row = child === undefined ? undefined : await readRow(lane, child);
  if (row) count(lane, state, row);
}

async function readChild(lane: Lane, child: string, state: StepState): Promise<Done> {
  const row = await readRow(lane, child);
  if (!row) throw new StepFailure('the run of the subflow is gone');
  if (!row.ended) return { kind: 'stop', stop: { kind: 'subflow', runId: child } };
  count(lane, state, row);
  if (row.status === 'failed' && row.overdue) throw new StepFailure(TOO_LONG, 'timeout');
  if (row.status === 'failed') throw new StepFailure(`the subflow failed: ${row.error ?? 'without a word'}`);
  return { kind: 'done', ...(await childResult(lane, child, row.planId)) };
}

async function readRow(lane: Lane, child: string): Promise<ChildRow | undefined> {
  const [row] = await lane.deps.db.query<ChildRow>(
    `SELECT status, error, plan_id AS "planId", spent_nano AS spent, finished_at IS NOT NULL AS ended,
        coalesce(active_ms >= active_limit_ms, false) AS overdue FROM run WHERE id = $1`,
    [child],
  );
  return row;
}

/** Once: from then on nobody waits for the child. */
function count({ writer }: Lane, state: StepState, { spent }: ChildRow): void {
  const { child: _ended, ...memory } = writer.memory;
  writer.memory = memory;
  state.costNano += spent;
  writer.batch.spend += spent;
}

/** The result of the child's last step that has one. */
async function childResult(lane: Lane, child: string, planId: string): Promise<{ result: string | null; data?: Json }> {
  const plan = await loadPlan(lane.deps, lane.run.workspaceId, planId);
  const rows = await lane.deps.db.query<{ id: string; result: string | null; data: Json | null }>(
    'SELECT DISTINCT ON (id) id, result, data FROM step WHERE run_id = $1 AND item = 0 ORDER BY id, round DESC',
    [child],
  );
  for (const step of leavesOf(plan).reverse()) {
    const row = rows.find((one) => one.id === step.id);
    if (row?.result != null) return { result: row.result, ...(row.data === null ? {} : { data: row.data }) };
  }
  return { result: null };
}
