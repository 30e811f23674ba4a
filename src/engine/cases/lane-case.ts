import type { EvalCase, EvalDecision } from '../../format/model.js';
import type { Sql } from '../../platform/db/contract.js';
import type { ClaimedRun } from '../journal/claim.js';

/** An eval's case, as a lane of its run sees it, at any depth of subflows. */
export interface LaneCase {
  readonly evalRunId: string | null;
  /** The budget of all cases of the eval run, nano-USD. */
  readonly budgetNano: bigint | null;
  /** The steps above this run, from the root's on. */
  readonly above: readonly string[];
  readonly decisions: readonly EvalDecision[];
  readonly tools: EvalCase['tools'];
  /** True if calls without a canned result are really made. */
  readonly live: boolean;
}

interface Row {
  readonly evalRunId: string | null;
  readonly budgetNano: bigint | null;
  readonly above: readonly string[] | null;
  readonly found: EvalCase | null;
}

/**
 * The case of a run in eval mode; null for every other run. A case that no longer exists decides nothing and allows no
 * real calls.
 */
export async function readLaneCase(
  sql: Sql,
  run: Pick<ClaimedRun, 'id' | 'rootId' | 'parentId' | 'mode'>,
): Promise<LaneCase | null> {
  if (run.mode !== 'eval') return null;
  const [row] = await sql.query<Row>({
    name: 'lane-case',
    text: `WITH RECURSIVE up AS (
        SELECT parent_id, trigger->>'step' AS step, 0 AS depth FROM run WHERE id = $1
        UNION ALL SELECT r.parent_id, r.trigger->>'step', up.depth + 1 FROM run r JOIN up ON r.id = up.parent_id)
      SELECT e.id AS "evalRunId", e.budget_nano AS "budgetNano", e.spec->'cases'->a.case_no AS found,
        (SELECT array_agg(step ORDER BY depth DESC) FROM up WHERE parent_id IS NOT NULL) AS above
      FROM (SELECT 1) one LEFT JOIN eval_attempt a ON a.run_id = $2 LEFT JOIN eval_run e ON e.id = a.eval_run_id`,
    values: [run.id, run.rootId],
  });
  return {
    evalRunId: row?.evalRunId ?? null,
    budgetNano: row?.budgetNano ?? null,
    above: row?.above ?? [],
    decisions: row?.found?.decisions ?? [],
    tools: row?.found?.tools ?? {},
    live: row?.found?.live ?? false,
  };
}

export const evalKeyOf = (evalRunId: string): string => `eval/${evalRunId}`;
