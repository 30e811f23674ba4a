import { leavesOf } from '../../format/model.js';
import type { Lane } from '../lane/lane.js';
import type { MonthBudget } from '../months/month-budgets.js';
import { openMonth } from '../months/month-pools.js';

/** A budget that calls of several lanes share, as its row in `spent` has it. Nano-USD. */
export interface Pool {
  readonly key: string;
  /** `the run`, `the step`, `the agent x`. */
  readonly of: string;
  readonly cap: bigint;
  readonly nano: bigint;
  readonly held: bigint;
  /** Reserved by this lane's own call. */
  readonly mine: bigint;
}

/** A budget from the run's plan: of a step or an agent, over the usage of these steps. */
export interface PlanCap {
  readonly key: string;
  readonly of: string;
  readonly cap: bigint;
  readonly steps: readonly string[];
}

/** A month with a budget. */
export type MonthCap = MonthBudget & { readonly cap: bigint };

interface Row extends Omit<Pool, 'nano' | 'held'> {
  readonly run: string;
  readonly steps: readonly string[] | null;
  /** Null until the budget has its row. */
  readonly nano: bigint | null;
  readonly held: bigint | null;
}

export const stepKeyOf = (runId: string, step: string): string => `run/${runId}/step/${step}`;
export const agentKeyOf = (runId: string, agent: string): string => `run/${runId}/agent/${agent}`;

/**
 * Reads the budgets that calls of this lane share with others: the run's own when other runs are under it, those of the
 * runs above it and of their steps, those that the plan sets for the current step, and the month's.
 */
export async function readPools(
  lane: Lane,
  planned: readonly PlanCap[],
  months: readonly MonthCap[],
): Promise<readonly Pool[]> {
  const isHanding = Object.values(lane.plan.agents).some(({ builtins }) => builtins.includes('run_agent'));
  const parent = isHanding || leavesOf(lane.plan).some((step) => step.subflow !== undefined);
  const alone = lane.run.parentId === null && !(parent && lane.run.budgetNano !== null);
  const given = [...planned, ...months.map(({ key, of, cap }) => ({ key, of, cap }))];
  if (alone && given.length === 0) return [];
  await lane.writer.quiet();
  let rows = await readRows(lane, parent, given);
  const missing = rows.filter((row) => row.nano === null);
  if (missing.length > 0) {
    for (const { key, run, steps } of missing) {
      const month = months.find((one) => one.key === key);
      await (month ? openMonth(lane.deps.db, month) : openPool(lane, { key, runId: run, steps, cap: null }));
    }
    rows = await readRows(lane, parent, given);
  }
  return rows.map((row) => ({ ...row, nano: row.nano ?? 0n, held: row.held ?? 0n }));
}

/** What is left of a budget for the next call of this lane, and what calls of other lanes have reserved. */
export function leftOfPool(lane: Lane, { key, cap, nano, held, mine }: Pool): { left: bigint; held: bigint } {
  const { usage, release } = lane.writer.batch;
  // The settled call of this turn may be in the batch that is written with the next start.
  const used = usage.reduce((sum, row) => sum + (row.keys.includes(key) ? BigInt(row.nano ?? 0) : 0n), 0n);
  const others = held - (release > 0n ? mine : 0n);
  return { left: cap - nano - used - others, held: others };
}

type Given = Pick<PlanCap, 'key' | 'of' | 'cap'> & Partial<PlanCap>;

function readRows(lane: Lane, parent: boolean, given: readonly Given[]): Promise<Row[]> {
  return lane.deps.db.query<Row>({
    name: 'read-pools',
    text: `WITH RECURSIVE up AS (
        SELECT id, parent_id, flow, budget_nano, trigger->>'step' AS step, $2::boolean AS shares FROM run WHERE id = $1
        UNION ALL SELECT r.id, r.parent_id, r.flow, r.budget_nano, r.trigger->>'step', true FROM run r JOIN up ON r.id = up.parent_id),
      k AS (
        SELECT 'run/' || id AS key, id AS run, NULL::jsonb AS steps, budget_nano AS cap,
          CASE WHEN id = $1 THEN 'the run' ELSE 'the run of ' || flow || ' that this one is part of' END AS of
        FROM up WHERE shares AND budget_nano IS NOT NULL
        UNION ALL SELECT s.key, up.parent_id, NULL, s.cap, 'the step ' || up.step || ' that this run is part of'
        FROM up JOIN spent s ON s.key = 'run/' || up.parent_id || '/step/' || up.step WHERE s.cap IS NOT NULL
        UNION ALL SELECT x.key, $1, x.steps, x.cap, x.of
        FROM jsonb_to_recordset($4::jsonb) x(key text, of text, cap bigint, steps jsonb))
      SELECT k.key, k.run, k.steps, k.cap, k.of, s.nano, s.held, coalesce(h.nano, 0) AS mine
      FROM k LEFT JOIN spent s ON s.key = k.key
        LEFT JOIN hold h ON h.run_id = $1 AND h.lane = $3 AND h.key = k.key`,
    values: [lane.run.id, parent, lane.name, JSON.stringify(given.map((cap) => ({ ...cap, cap: String(cap.cap) })))],
  });
}

interface NewPool {
  readonly key: string;
  readonly runId: string;
  /** The steps of the run that count, with the runs under them; null for all. */
  readonly steps: readonly string[] | null;
  readonly cap: bigint | null;
}

/** Starts with the usage so far: the run may have been started by a release without such a row. */
export async function openPool({ deps }: Lane, { key, runId, steps, cap }: NewPool): Promise<void> {
  await deps.db.query({
    name: 'open-pool',
    text: `WITH RECURSIVE tree AS (
        SELECT id FROM run WHERE parent_id = $2 AND ($3::text[] IS NULL OR trigger->>'step' = ANY($3))
        UNION SELECT c.id FROM run c JOIN tree ON c.parent_id = tree.id)
      INSERT INTO spent (key, cap, nano)
      SELECT $1, $4, coalesce(sum(u.nano), 0)::bigint FROM usage u
        WHERE u.run_id IN (SELECT id FROM tree) OR (u.run_id = $2 AND ($3::text[] IS NULL OR u.step = ANY($3)))
      ON CONFLICT DO NOTHING`,
    values: [key, runId, steps, cap],
  });
}
