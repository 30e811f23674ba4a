import { IN_SCOPE, rowCheck } from '../check.js';

/** SQL: `r` was started by a delivery itself, not by a person's redelivery. */
const DELIVERED = (r: string) =>
  `${r}.trigger ? 'deliveryId' AND NOT ${r}.trigger ? 'redeliveryOf' AND ${r}.parent_id IS NULL AND ${r}.rerun_of IS NULL`;

/** Accepted deliveries and raised events start their runs once, within moments. */
export const triggers = rowCheck(
  'A worker’s loops start what waits within a second: check that one is alive. A doubled or lost run cannot be repaired: report it with its delivery (GET …/hooks/<flow>/deliveries).',
  `SELECT NULL::text AS run, format('The burst %s of flow %s (workspace %s) was due at %s, and its run is not begun.', b.key, b.flow,
      b.workspace_id, to_char(b.due_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')) AS says
    FROM burst b WHERE b.due_at < now() - interval '1 minute' AND $1::text IS NULL`,
  `SELECT NULL::text AS run, format('The delivery %s of flow %s (workspace %s) waits for a burst that is gone.', d.id, d.flow, d.workspace_id) AS says
    FROM delivery d WHERE d.burst_id IS NOT NULL AND $1::text IS NULL AND NOT EXISTS (SELECT 1 FROM burst b WHERE b.id = d.burst_id)`,
  `SELECT NULL::text AS run, format('%s events of workspace %s wait since %s to start who listens.', count(*), e.workspace_id,
      to_char(min(e.at) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')) AS says
    FROM raised_event e WHERE e.at < now() - interval '1 minute' AND $1::text IS NULL GROUP BY e.workspace_id`,
  `SELECT NULL::text AS run, format('A sender of flow %s (workspace %s) was answered with the run %s, which is not there.', k.flow,
      k.workspace_id, k.answer->>'runId') AS says
    FROM delivery_key k WHERE k.answer ? 'runId' AND $1::text IS NULL AND NOT EXISTS (SELECT 1 FROM run WHERE id = k.answer->>'runId')
      AND NOT EXISTS (SELECT 1 FROM audit_entry a WHERE a.action = 'run.delete' AND a.target = k.answer->>'runId')`,
  `SELECT r.id AS run, format('was started by the delivery %s, as %s was', r.trigger->>'deliveryId', e.id) AS says
    FROM run r JOIN run e ON e.workspace_id = r.workspace_id AND e.flow = r.flow AND e.trigger->>'kind' = r.trigger->>'kind'
      AND e.trigger->>'deliveryId' = r.trigger->>'deliveryId' AND e.id < r.id
    WHERE ${IN_SCOPE} AND ${DELIVERED('r')} AND ${DELIVERED('e')} AND r.created_at - e.created_at < interval '24 hours'`,
);
