import { IN_SCOPE, rowCheck } from '../check.js';

/** Every call of an ended run has ended and has its event, and interrupted calls are booked as estimated usage. */
export const journal = rowCheck(
  'Compare the run’s calls with the provider’s bill and with what its tools changed; report it with the run’s events.',
  `SELECT r.id AS run, format('has ended, but its call of %s in step %s is open', c.name, c.step) AS says
    FROM call c JOIN run r ON r.id = c.run_id
    WHERE c.state = 'started' AND r.finished_at IS NOT NULL AND ${IN_SCOPE}`,
  `WITH rows AS (SELECT c.run_id, count(*) FILTER (WHERE c.kind = 'model') AS models, count(*) FILTER (WHERE c.kind = 'tool') AS tools
      FROM call c WHERE c.state = 'finished' GROUP BY 1),
    reported AS (SELECT e.run_id, count(*) FILTER (WHERE e.type = 'model.finished') AS models,
        count(*) FILTER (WHERE e.type = 'tool.finished') AS tools
      FROM run_event e WHERE e.type IN ('model.finished', 'tool.finished') GROUP BY 1)
    SELECT r.id AS run, format('made %s calls of models and %s of tools, and has events of %s and %s', coalesce(x.models, 0),
      coalesce(x.tools, 0), coalesce(t.models, 0), coalesce(t.tools, 0)) AS says
    FROM run r LEFT JOIN rows x ON x.run_id = r.id LEFT JOIN reported t ON t.run_id = r.id
    WHERE ${IN_SCOPE} AND r.finished_at IS NOT NULL
      AND (coalesce(x.models, 0) <> coalesce(t.models, 0) OR coalesce(x.tools, 0) <> coalesce(t.tools, 0))`,
  `WITH cut AS (SELECT c.run_id, sum(c.starts - 1) AS times FROM call c WHERE c.kind = 'model' AND c.starts > 1 GROUP BY 1),
    booked AS (SELECT u.run_id, count(*) AS times FROM usage u WHERE u.estimated GROUP BY 1)
    SELECT r.id AS run, format('cut %s calls of models, and books %s as estimated', x.times, coalesce(t.times, 0)) AS says
    FROM cut x JOIN run r ON r.id = x.run_id LEFT JOIN booked t ON t.run_id = r.id
    WHERE ${IN_SCOPE} AND r.status = 'completed' AND x.times > coalesce(t.times, 0)`,
  `SELECT r.id AS run, format('has a gap in its transcript of step %s', m.step) AS says FROM message m JOIN run r ON r.id = m.run_id
    WHERE ${IN_SCOPE} GROUP BY r.id, m.step, m.item, m.round, m.attempt, m.epoch HAVING max(m.seq) - min(m.seq) + 1 <> count(*)`,
);
