import { rowCheck } from '../check.js';

/** What is to be told to Temporal is told within moments of the commit. */
export const outbox = rowCheck(
  'See that a worker lives and that Temporal answers (GET /healthz tells both); it is then told within a second.',
  `SELECT o.run_id AS run, format('has waited since %s for Temporal to be told "%s"%s', to_char(min(o.created_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'),
      o.kind, coalesce(': ' || max(o.last_error), '')) AS says
    FROM outbox o JOIN run r ON r.id = o.run_id
    WHERE o.created_at < now() - interval '1 minute' AND ($1::text IS NULL OR r.root_id = $1) GROUP BY o.run_id, o.kind`,
  `SELECT NULL::text AS run, format('The word "%s" of %s %s has waited since %s for Temporal to be told%s.', o.kind,
      CASE o.kind WHEN 'apply-push' THEN 'the push that waits in workspace' ELSE 'the eval or the deleted run' END, o.run_id,
      to_char(min(o.created_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'), coalesce(': ' || max(o.last_error), '')) AS says
    FROM outbox o WHERE o.created_at < now() - interval '1 minute' AND $1::text IS NULL
      AND NOT EXISTS (SELECT 1 FROM run r WHERE r.id = o.run_id) GROUP BY o.run_id, o.kind`,
);
