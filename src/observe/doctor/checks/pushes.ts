import { rowCheck } from '../check.js';

/** A push that waits for live runs is applied when they have ended: its workflow checks at least every ten minutes. */
export const pushes = rowCheck(
  'Check that a worker is alive and that Temporal answers (GET /healthz shows both); the request is sent to Temporal again each hour. To apply it now: POST /api/workspaces/<ws>/repo {"action":"deploy","ref":"refs/service/pending"}.',
  `SELECT NULL::text AS run, format('The push %s of workspace %s (%s) waits since %s, and no run is live.', p.oid, w.name, w.id,
      to_char(p.at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')) AS says
    FROM pending_push p JOIN workspace w ON w.id = p.workspace_id
    WHERE p.refused_at IS NULL AND p.at < now() - interval '15 minutes' AND $1::text IS NULL
      AND NOT EXISTS (SELECT 1 FROM run r WHERE r.workspace_id = w.id AND r.mode = 'normal' AND r.parent_id IS NULL
        AND (r.finished_at IS NULL OR r.finished_at > now() - interval '15 minutes'))`,
);
