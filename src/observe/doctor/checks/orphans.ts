import { RUN_TABLES } from '../../../content/index.js';
import { rowCheck } from '../check.js';

const OF_RUN = [...RUN_TABLES, 'slot', 'slot_lane'];

/** No row references a deleted run, workspace or plan. */
export const orphans = rowCheck(
  'Orphaned rows only take up space: delete them by this id, and report it.',
  ...OF_RUN.map(
    (table) => `SELECT x.run_id AS run, format('is gone, but has %s rows in ${table}', count(*)) AS says FROM ${table} x
      WHERE ($1::text IS NULL OR x.run_id = $1) AND NOT EXISTS (SELECT 1 FROM run WHERE id = x.run_id) GROUP BY x.run_id`,
  ),
  // Outbox rows of other kinds belong to evals and pushes; a run's cancel outlives the run.
  `SELECT x.run_id AS run, format('is gone, but has %s rows in outbox', count(*)) AS says FROM outbox x
    WHERE ($1::text IS NULL OR x.run_id = $1) AND x.kind IN ('start', 'approval', 'event')
      AND NOT EXISTS (SELECT 1 FROM run WHERE id = x.run_id) GROUP BY x.run_id`,
  `SELECT r.id AS run, 'is of a workspace that is gone' AS says FROM run r
    WHERE ($1::text IS NULL OR r.root_id = $1) AND NOT EXISTS (SELECT 1 FROM workspace WHERE id = r.workspace_id)`,
  `SELECT r.id AS run, 'has lost its plan' AS says FROM run r WHERE ($1::text IS NULL OR r.root_id = $1)
    AND r.finished_at IS NULL AND NOT EXISTS (SELECT 1 FROM plan WHERE workspace_id = r.workspace_id AND id = r.plan_id)`,
  `SELECT r.id AS run, format('has lost its parent %s', r.parent_id) AS says FROM run r
    WHERE ($1::text IS NULL OR r.root_id = $1) AND r.parent_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM run WHERE id = r.parent_id)`,
);
