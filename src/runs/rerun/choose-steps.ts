import type { Sql } from '../../db/contract.js';
import { branchesOf } from '../../engine/index.js';
import { Refusal } from '../../shared/refusal.js';
import type { Plan, StepPlan } from '../../workspace/index.js';
import { nodesOf, renamedIds, renameRow } from './renamed-ids.js';

/** One time that a step or an item of it came to an end in the old run. */
export interface TakenRow {
  /** The step's id in the new run's plan. */
  readonly id: string;
  /** Its id in the old run. */
  readonly oldId: string;
  readonly item: number;
  readonly round: number;
  readonly lane: string;
  readonly status: string;
  readonly error: string | null;
}

export interface ChosenSteps {
  readonly copied: readonly { readonly n: number; readonly id: string }[];
  /** What is taken over, groups and items included. */
  readonly rows: readonly TakenRow[];
  /** Steps before the first that have no result in the new run, and why. */
  readonly left: readonly { readonly n: number; readonly id: string; readonly why: string }[];
  /** Of those, the ones that have to stand as skipped for the new run to go past them. */
  readonly skipped: readonly string[];
}

/** What has ended of the old run by now; what is still at work has no result. */
export function readTakenSteps(sql: Sql, runId: string): Promise<TakenRow[]> {
  return sql.query<TakenRow>({
    name: 'rerun-steps',
    text: `SELECT id, id AS "oldId", item, round, lane, status, error FROM step
      WHERE run_id = $1 AND status IN ('completed', 'failed', 'skipped') ORDER BY id, item, round`,
    values: [runId],
  });
}

interface Asked {
  readonly plan: Plan;
  readonly oldPlan: Plan;
  readonly step: number;
}

/** Decides for every step before N whether its result is taken over. Refuses when one of them has none to take. */
export function chooseSteps({ plan, oldPlan, step }: Asked, taken: readonly TakenRow[]): ChosenSteps {
  const ids = renamedIds(oldPlan, plan);
  const rows = taken.map((row) => renameRow(row, ids));
  const copied: { n: number; id: string }[] = [];
  const left: { n: number; id: string; why: string }[] = [];
  const skipped: string[] = [];
  const groups: string[] = [];
  const known = new Set(nodesOf(oldPlan).map(({ id }) => ids.get(id) ?? id));
  for (const node of plan.nodes) {
    const group = node.kind === 'group' ? node : null;
    const before = branchesOf(node).filter(({ n }) => n < step);
    const whole = before.length === branchesOf(node).length;
    const passed = group !== null && whole && newest(rows, group.id)?.status === 'completed';
    for (const one of before) {
      const { n, id } = one;
      if (group && !whole && group.join === 'any')
        left.push({ n, id, why: 'its group takes the first branch that ends' });
      else if (!known.has(id)) {
        left.push({ n, id, why: 'the old run had no step of this id' });
        if (whole) skipped.push(id);
      } else {
        assertEnded(one, { rows, passed, step });
        copied.push({ n, id });
      }
    }
    if (group && whole && before.length > 0) (newest(rows, group.id) ? groups : skipped).push(group.id);
  }
  const chosen = new Set([...copied.map(({ id }) => id), ...groups]);
  return { copied, rows: rows.filter(({ id }) => chosen.has(id)), left, skipped };
}

function newest(rows: readonly TakenRow[], id: string): TakenRow | undefined {
  return rows.filter((row) => row.id === id && row.item === 0).at(-1);
}

interface Past {
  readonly rows: readonly TakenRow[];
  /** It stands in a group that was passed, whatever became of this branch. */
  readonly passed: boolean;
  readonly step: number;
}

function assertEnded(one: StepPlan, { rows, passed, step }: Past): void {
  const row = newest(rows, one.id);
  if (row && (row.status !== 'failed' || passed || one.onFail === 'continue')) return;
  const why = row ? `it failed: ${row.error ?? 'without a word'}` : 'the run has not been past it';
  throw new Refusal(
    'conflict',
    `cannot begin at step ${step}: step ${one.n} (${one.title}) has no result to take over, ${why}; begin at step ${one.n} or before`,
    { step: one.n },
  );
}
