import { loadPlan, pinnedPlan as readPinned } from '../../content/index.js';
import { leavesOf, type Plan } from '../../format/model.js';
import type { Json } from '../../shared/json.js';
import { toNano } from '../../shared/money.js';
import { openPool, stepKeyOf } from '../agent/pools.js';
import { deadlineOf } from '../lane/deadline.js';
import type { Lane, StepState } from '../lane/lane.js';
import { childSlots } from '../slots/child-slots.js';

export interface ChildRow {
  readonly status: string;
  readonly error: string | null;
  readonly planId: string;
  readonly spent: bigint;
  readonly ended: boolean;
  /** Ended by the timeout of the step that started it. */
  readonly overdue: boolean;
  /** Its active time, where that was counted. */
  readonly activeMs: number;
}

export interface PinnedPlan {
  readonly planId: string;
  readonly plan: Plan;
}

/** The plan of a flow, or of a single agent, in the revision and the library that this run is pinned to. */
export function pinnedPlan(lane: Lane, target: string): Promise<PinnedPlan | null> {
  return readPinned(lane.deps.db, lane.run, target);
}

export interface NewChild {
  readonly id: string;
  readonly pinned: PinnedPlan;
  readonly input: Json;
  /** The step that starts it. */
  readonly step: string;
  /** Maximum active time, ms; null without a limit. */
  readonly limit: number | null;
}

/** Adds the child's row to the next write. */
export async function writeChild(lane: Lane, { id, pinned, input, step, limit }: NewChild): Promise<void> {
  const { plan, planId } = pinned;
  const slots = await childSlots(lane, { id, plan, step, input });
  lane.writer.batch.children.push({
    id,
    flow: plan.flow,
    plan: planId,
    input,
    step,
    budget: plan.budgetUsd === undefined ? null : String(toNano(plan.budgetUsd)),
    deadline: childDeadline(lane, plan.timeoutMs),
    tags: plan.tags,
    limit,
    clocks: [...(lane.run.clocks ?? []), ...(limit === null ? [] : [id])],
    slots,
  });
}

function childDeadline(lane: Lane, timeoutMs: number | undefined): number | null {
  const own = timeoutMs === undefined ? null : lane.deps.clock.now() + timeoutMs;
  const ours = deadlineOf(lane);
  if (own === null || ours === null) return own ?? ours;
  return Math.min(own, ours);
}

/** All rounds and items of a step count under its budget: runs under it find the budget, nano-USD, in this row. */
export async function capStep(lane: Lane, step: string, cap: bigint): Promise<void> {
  const { id: runId } = lane.run;
  const key = stepKeyOf(runId, step);
  await openPool(lane, { key, runId, steps: [step], cap });
  // A step whose own calls count under it already has its row, without the budget.
  await lane.deps.db.query('UPDATE spent SET cap = $2 WHERE key = $1 AND cap IS NULL', [key, cap]);
}

export async function readChildRow(lane: Lane, child: string): Promise<ChildRow | undefined> {
  const [row] = await lane.deps.db.query<ChildRow>(
    `SELECT status, error, plan_id AS "planId", spent_nano AS spent, finished_at IS NOT NULL AS ended,
        coalesce(active_ms >= active_limit_ms, false) AS overdue, coalesce(active_ms, 0)::float8 AS "activeMs"
      FROM run WHERE id = $1`,
    [child],
  );
  return row;
}

/**
 * Books the cost of an ended child to the step and the run. Happens once, since no lane waits for the child afterwards.
 */
export function countChild({ writer }: Lane, state: StepState, child: string, spent: bigint): void {
  const { child: one, handed = [], ...memory } = writer.memory;
  const others = handed.filter((id) => id !== child);
  writer.memory = {
    ...memory,
    ...(one === undefined || one === child ? {} : { child: one }),
    ...(others.length === 0 ? {} : { handed: others }),
  };
  state.costNano += spent;
  writer.batch.spend += spent;
}

/** Books the children's cost when a step ends before they do. */
export async function countChildren(lane: Lane, state: StepState): Promise<void> {
  const { child, handed = [] } = lane.writer.memory;
  for (const id of [...(child === undefined ? [] : [child]), ...handed]) {
    const row = await readChildRow(lane, id);
    if (row) countChild(lane, state, id, row.spent);
  }
}

/** The result of the child's last step that has one. */
export async function childResult(
  lane: Lane,
  child: string,
  planId: string,
): Promise<{ result: string | null; data?: Json }> {
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
