import { IN_SCOPE, rowCheck } from '../check.js';

/** Ended runs have no open step, and each step starts and completes once per round. */
export const steps = rowCheck(
  'Read what the step did before you start the run again: it may have done it twice. Report it with the run’s events.',
  `SELECT r.id AS run, format('has ended, but its step %s is %s', s.id, s.status) AS says
    FROM step s JOIN run r ON r.id = s.run_id
    WHERE r.finished_at IS NOT NULL AND s.status IN ('running', 'waiting') AND ${IN_SCOPE}`,
  `SELECT r.id AS run, format('is completed, but its lane %s is %s', l.lane, l.state) AS says
    FROM lane l JOIN run r ON r.id = l.run_id
    WHERE r.status = 'completed' AND l.state NOT IN ('done', 'failed') AND ${IN_SCOPE}`,
  `SELECT e.run_id AS run, format('recorded %s of step %s, round %s, %s times', e.type, e.data->>'step', e.data->>'round', count(*)) AS says
    FROM run_event e WHERE e.type IN ('step.started', 'step.completed')
      AND ($1::text IS NULL OR e.run_id IN (SELECT id FROM run WHERE root_id = $1))
    GROUP BY e.run_id, e.type, e.data->>'step', e.data->>'item', e.data->>'round' HAVING count(*) > 1`,
);
