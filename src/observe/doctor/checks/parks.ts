import { IN_SCOPE, rowCheck } from '../check.js';

/** A park has one decision, ended runs have no open park, and the counts and status of a run match its parks. */
export const parks = rowCheck(
  'People who wait for this run may see a wrong state: stop the run and start it again; report it with the run’s events.',
  `SELECT r.id AS run, format('has ended, but its park %s is open', p.id) AS says
    FROM park p JOIN run r ON r.id = p.run_id WHERE p.decided_at IS NULL AND r.finished_at IS NOT NULL AND ${IN_SCOPE}`,
  `SELECT r.id AS run, format('counts %s open gates, and has %s', r.gates_open, count(p.id)) AS says
    FROM run r LEFT JOIN park p ON p.run_id = r.id AND p.kind = 'approval' AND p.decided_at IS NULL
    WHERE (r.finished_at IS NULL OR r.gates_open <> 0) AND ${IN_SCOPE} GROUP BY r.id HAVING r.gates_open <> count(p.id)`,
  `SELECT r.id AS run, format('is %s with %s open gates', r.status, r.gates_open) AS says FROM run r
    WHERE (r.status = 'awaiting-approval') <> (r.gates_open > 0) AND ${IN_SCOPE}`,
  `SELECT r.id AS run, format('is %s, and %s', r.status,
      CASE WHEN r.finished_at IS NULL THEN 'has no end' ELSE 'has an end' END) AS says FROM run r
    WHERE (r.status IN ('completed', 'failed')) <> (r.finished_at IS NOT NULL) AND ${IN_SCOPE}`,
  `WITH decided AS (SELECT e.run_id, e.data->>'park' AS park, count(*) AS times FROM run_event e
      WHERE e.type IN ('approval.decided', 'approval.timeout', 'event.received', 'event.timeout', 'timer.elapsed')
        AND ($1::text IS NULL OR e.run_id IN (SELECT id FROM run WHERE root_id = $1)) GROUP BY 1, 2)
    SELECT r.id AS run, format('decided its park %s %s times', p.id, coalesce(t.times, 0)) AS says
    FROM park p JOIN run r ON r.id = p.run_id LEFT JOIN decided t ON t.run_id = p.run_id AND t.park = p.id
    WHERE ${IN_SCOPE} AND (coalesce(t.times, 0) > 1 OR (coalesce(t.times, 0) = 0
      AND p.decision IN ('approve', 'reject', 'timeout', 'event', 'elapsed')))`,
);
