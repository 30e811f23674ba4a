import { IN_SCOPE, rowCheck } from '../check.js';

/** Nothing is set aside for an ended run, and what a run spent is what it used. A child of a branch that lost counts for itself. */
export const money = rowCheck(
  'Budgets read these figures: correct the run’s row by its usage before you rely on them, and report it with the run’s events.',
  `SELECT r.id AS run, format('has ended, and still sets %s nano-dollars aside', r.reserved_nano) AS says
    FROM run r WHERE r.finished_at IS NOT NULL AND r.reserved_nano <> 0 AND ${IN_SCOPE}`,
  `SELECT r.id AS run, format('sets less than nothing aside: %s nano-dollars', r.reserved_nano) AS says
    FROM run r WHERE r.reserved_nano < 0 AND ${IN_SCOPE}`,
  `WITH used AS (SELECT run_id, sum(nano) AS nano FROM usage GROUP BY 1),
    under AS (SELECT parent_id, sum(spent_nano) AS nano FROM run WHERE parent_id IS NOT NULL GROUP BY 1)
    SELECT r.id AS run, format('spent %s nano-dollars, and used %s and %s in runs under it', r.spent_nano, coalesce(u.nano, 0), coalesce(c.nano, 0)) AS says
    FROM run r LEFT JOIN used u ON u.run_id = r.id LEFT JOIN under c ON c.parent_id = r.id
    WHERE ${IN_SCOPE} AND r.spent_nano - coalesce(u.nano, 0) NOT BETWEEN 0 AND coalesce(c.nano, 0)`,
);
