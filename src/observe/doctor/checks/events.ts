import { IN_SCOPE, rowCheck } from '../check.js';

/** Events are numbered from 1 without a gap, and an ended run has one end event, its last. */
export const events = rowCheck(
  'Streams of this run may have missed something: read the run itself, and report it with the run’s events.',
  `SELECT r.id AS run, format('numbers its events up to %s, and has %s of them', r.last_seq, count(e.seq)) AS says
    FROM run r LEFT JOIN run_event e ON e.run_id = r.id WHERE ${IN_SCOPE} GROUP BY r.id
    HAVING count(e.seq) <> r.last_seq OR max(e.seq) <> r.last_seq OR min(e.seq) <> 1`,
  `WITH ends AS (SELECT e.run_id, count(*) AS times, max(e.seq) AS last FROM run_event e
      WHERE e.type IN ('run.completed', 'run.failed', 'run.stopped') GROUP BY e.run_id)
    SELECT r.id AS run, format('has %s end events, and %s', coalesce(x.times, 0),
      CASE WHEN r.finished_at IS NULL THEN 'is live' ELSE 'more after it' END) AS says
    FROM run r LEFT JOIN ends x ON x.run_id = r.id
    WHERE ${IN_SCOPE} AND CASE WHEN r.finished_at IS NULL THEN x.times IS NOT NULL
      ELSE x.times IS DISTINCT FROM 1 OR x.last <> r.last_seq END`,
);
