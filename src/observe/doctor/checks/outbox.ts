import { rowCheck } from '../check.js';

/** Outbox rows reach Temporal within moments of their commit. */
export const outbox = rowCheck(
  'Check that a worker is alive and that Temporal answers (GET /healthz shows both); the message is then sent within half a minute.',
  `SELECT o.run_id AS run, format('has waited since %s to send "%s" to Temporal%s', to_char(min(o.created_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'),
      o.kind, coalesce(': ' || max(o.last_error), '')) AS says
    FROM outbox o JOIN run r ON r.id = o.run_id
    WHERE o.created_at < now() - interval '1 minute' AND ($1::text IS NULL OR r.root_id = $1) GROUP BY o.run_id, o.kind`,
  `SELECT NULL::text AS run, format('The message "%s" of %s %s has waited since %s to be sent to Temporal%s.', o.kind,
      CASE o.kind WHEN 'apply-push' THEN 'the push that waits in workspace' ELSE 'the eval or the deleted run' END, o.run_id,
      to_char(min(o.created_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'), coalesce(': ' || max(o.last_error), '')) AS says
    FROM outbox o WHERE o.created_at < now() - interval '1 minute' AND $1::text IS NULL
      AND NOT EXISTS (SELECT 1 FROM run r WHERE r.id = o.run_id) GROUP BY o.run_id, o.kind`,
);
