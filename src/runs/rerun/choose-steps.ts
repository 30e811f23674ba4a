import type { Plan, StepPlan } from '../../format/index.js';
import { branchesOf } from '../../format/model.js';
import type { Sql, TableRow } from '../../platform/db/contract.js';
import { Refusal } from '../../shared/refusal.js';
import { nodesOf, renamedIds, renameRow } from './renamed-ids.js';

/** One execution of a step or item that ended in the old run. */
export interface EndedStepRow extends Pick<TableRow<'Step'>, 'id' | 'item' | 'round' | 'lane' | 'status' | 'error'> {
  /** The step's id in the old run; `id` is the one in the new run's plan. */
  readonly oldId: string;
}

export interface ChosenSteps {
  readonly copied: readonly { readonly n: number; readonly id: string }[];
  /** The rows to copy, including groups and items. */
  readonly rows: readonly EndedStepRow[];
  /** Steps before the start step whose result is not copied, and why. */
  readonly left: readonly { readonly n: number; readonly id: string; readonly why: string }[];
  /** Those of them that are marked skipped, so that the new run passes them. */
  readonly skipped: readonly string[];
}

/** The executions that have ended so far; a step that still runs has no result. */
export function readEndedSteps(sql: Sql, runId: string): Promise<EndedStepRow[]> {
  return sql.query<EndedStepRow>({
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

/** Decides for each step before N whether its result is copied. Refuses when one of them has no result. */
export function chooseSteps({ plan, oldPlan, step }: Asked, taken: readonly EndedStepRow[]): ChosenSteps {
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
      if (group && !whole && group.join === 'any') left.push({ n, id, why: 'its group ended with its first branch' });
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

function newest(rows: readonly EndedStepRow[], id: string): EndedStepRow | undefined {
  return rows.filter((row) => row.id === id && row.item === 0).at(-1);
}

interface Past {
  readonly rows: readonly EndedStepRow[];
  /** True if the step's group has completed, even if this branch failed. */
  readonly passed: boolean;
  readonly step: number;
}

function assertEnded(one: StepPlan, { rows, passed, step }: Past): void {
  const row = newest(rows, one.id);
  if (row && (row.status !== 'failed' || passed || one.onFail === 'continue')) return;
  const why = row ? `it failed: ${row.error ?? 'without an error message'}` : 'the run did not get past it';
  throw new Refusal(
    'conflict',
    `cannot begin at step ${step}: step ${one.n} (${one.title}) has no result to take over, ${why}; begin at step ${one.n} or before`,
    { step: one.n },
  );
}
