import { rowCheck } from '../check.js';

/** Whoever is to be told is told within moments, or at the next try that was promised. */
export const notifications = rowCheck(
  'A worker’s loop sends what is due within seconds: see that one lives, and that what it sends through answers.',
  `SELECT NULL::text AS run, format('%s times "%s" waits since %s to be told.', count(*), n.event,
      to_char(min(n.at) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')) AS says
    FROM notice n WHERE n.at < now() - interval '1 minute' AND $1::text IS NULL GROUP BY n.event`,
  `SELECT NULL::text AS run, format('The notification %s (%s) was due at %s, and is not tried.', n.id, n.event,
      to_char(n.due_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')) AS says
    FROM notification n WHERE n.state = 'pending' AND n.due_at < now() - interval '1 minute' AND $1::text IS NULL`,
);
