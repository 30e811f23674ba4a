import { IN_SCOPE, rowCheck } from '../check.js';

/**
 * Ended runs hold no reservation, and a run's cost equals its usage. In runs of older builds a child whose parent did
 * not resume counted its cost only for itself.
 */
export const money = rowCheck(
  'Budgets read these figures: correct the run’s row by its usage before you rely on them, and report it with the run’s events.',
  `SELECT r.id AS run, format('has ended, and still sets %s nano-dollars aside', r.reserved_nano) AS says
    FROM run r WHERE r.finished_at IS NOT NULL AND r.reserved_nano <> 0 AND ${IN_SCOPE}`,
  `SELECT r.id AS run, format('sets less than nothing aside: %s nano-dollars', r.reserved_nano) AS says
    FROM run r WHERE r.reserved_nano < 0 AND ${IN_SCOPE}`,
  `SELECT h.run_id AS run, format('holds %s nano-dollars of %s, and has no model call in flight in %s', h.nano, h.key, h.lane) AS says
    FROM hold h JOIN run r ON r.id = h.run_id WHERE ${IN_SCOPE} AND NOT EXISTS (
      SELECT 1 FROM call c WHERE c.run_id = h.run_id AND c.lane = h.lane AND c.kind = 'model' AND c.state = 'started')`,
  `SELECT r.id AS run, format('counts %s nano-dollars held of %s, and calls hold %s', s.held, s.key, coalesce(x.nano, 0)) AS says
    FROM spent s JOIN run r ON r.id = split_part(s.key, '/', 2)
      LEFT JOIN (SELECT key, sum(nano) AS nano FROM hold GROUP BY 1) x ON x.key = s.key
    WHERE s.key LIKE 'run/%' AND ${IN_SCOPE} AND s.held <> coalesce(x.nano, 0)`,
  `SELECT NULL AS run, format('%s counts %s nano-dollars held, and calls hold %s.', s.key, s.held, coalesce(x.nano, 0)) AS says
    FROM spent s LEFT JOIN (SELECT key, sum(nano) AS nano FROM hold GROUP BY 1) x ON x.key = s.key
    WHERE s.key LIKE 'month/%' AND $1::text IS NULL AND s.held <> coalesce(x.nano, 0)`,
  `SELECT r.id AS run, format('counts %s nano-dollars spent of %s, and its tree used %s', s.nano, s.key, t.nano) AS says
    FROM run r JOIN spent s ON s.key = 'run/' || r.id CROSS JOIN LATERAL (
      WITH RECURSIVE tree AS (SELECT r.id UNION SELECT c.id FROM run c JOIN tree ON c.parent_id = tree.id)
      SELECT coalesce(sum(u.nano), 0) AS nano FROM tree JOIN usage u ON u.run_id = tree.id) t
    WHERE ${IN_SCOPE} AND s.nano <> t.nano`,
  `SELECT r.id AS run, format('counts %s nano-dollars spent of %s, and that step used %s', s.nano, s.key, t.nano) AS says
    FROM spent s JOIN run r ON s.key LIKE 'run/%/step/%' AND r.id = split_part(s.key, '/', 2) CROSS JOIN LATERAL (
      WITH RECURSIVE tree AS (
        SELECT c.id FROM run c WHERE c.parent_id = r.id AND c.trigger->>'step' = split_part(s.key, '/', 4)
        UNION SELECT c.id FROM run c JOIN tree ON c.parent_id = tree.id)
      SELECT coalesce(sum(u.nano), 0) AS nano FROM usage u
        WHERE u.run_id IN (SELECT id FROM tree) OR (u.run_id = r.id AND u.step = split_part(s.key, '/', 4))) t
    WHERE ${IN_SCOPE} AND s.nano <> t.nano`,
  `WITH used AS (SELECT run_id, sum(nano) AS nano FROM usage GROUP BY 1),
    under AS (SELECT parent_id, sum(spent_nano) AS nano FROM run WHERE parent_id IS NOT NULL GROUP BY 1)
    SELECT r.id AS run, format('spent %s nano-dollars, and used %s and %s in runs under it', r.spent_nano, coalesce(u.nano, 0), coalesce(c.nano, 0)) AS says
    FROM run r LEFT JOIN used u ON u.run_id = r.id LEFT JOIN under c ON c.parent_id = r.id
    WHERE ${IN_SCOPE} AND r.spent_nano - coalesce(u.nano, 0) NOT BETWEEN 0 AND coalesce(c.nano, 0)`,
);
