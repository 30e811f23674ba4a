import type { Sql } from '../../platform/db/contract.js';
import { toJson } from '../../shared/exact-json.js';
import { digestPlan, storePlans } from '../workspaces/plans.js';
import type { CheckedWorkspace } from './recheck.js';

interface PlansNow {
  readonly id: string;
  readonly seq: number;
  readonly plans: Readonly<Record<string, string>>;
}

/**
 * Stores the plans of live revisions that differ with the new library, and returns the names of their workspaces. New
 * runs find them by the library's revision; running ones keep their plans.
 */
export async function storeChangedPlans(
  sql: Sql,
  librarySeq: number,
  checked: readonly CheckedWorkspace[],
): Promise<readonly string[]> {
  // Waits for a concurrent deletion, after which the workspace is missing here and gets no plans.
  const there = await sql.query<{ id: string }>({
    name: 'workspaces-to-plan',
    text: 'SELECT id FROM workspace WHERE id = ANY($1) ORDER BY id FOR SHARE',
    values: [checked.map(({ id }) => id)],
  });
  const now = await sql.query<PlansNow>({
    name: 'plans-now',
    text: `SELECT workspace_id AS id, seq, plans_at(workspace_id, seq, $2, plans) AS plans FROM revision
      WHERE (workspace_id, seq) IN (SELECT * FROM unnest($1::text[], $3::int[]))`,
    values: [checked.map(({ id }) => id), librarySeq, checked.map(({ seq }) => seq)],
  });
  const known = new Map(now.map(({ id, plans }) => [id, plans]));
  const changed: string[] = [];
  for (const { id } of there) {
    const workspace = checked.find((one) => one.id === id);
    if (!workspace?.plans || !isOther(workspace.plans, known.get(id) ?? {})) continue;
    const plans = await storePlans(sql, id, workspace.plans);
    await sql.query({
      name: 'insert-plan-set',
      text: 'INSERT INTO plan_set (workspace_id, seq, library_seq, plans) VALUES ($1, $2, $3, $4)',
      values: [id, workspace.seq, librarySeq, toJson(plans)],
    });
    changed.push(workspace.name);
  }
  return changed.sort();
}

function isOther(plans: NonNullable<CheckedWorkspace['plans']>, known: PlansNow['plans']): boolean {
  return Object.entries(plans).some(([target, plan]) => digestPlan(plan).id !== known[target]);
}
