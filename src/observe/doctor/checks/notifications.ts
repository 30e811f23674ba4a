import { rowCheck } from '../check.js';

/** Notices are expanded within moments, and notifications are sent or retried when they are due. */
export const notifications = rowCheck(
  'A worker’s loop sends what is due within seconds: check that a worker is alive and that the mail provider and the receivers answer.',
  `SELECT NULL::text AS run, format('%s notices of "%s" have waited since %s to be sent.', count(*), n.event,
      to_char(min(n.at) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')) AS says
    FROM notice n WHERE n.at < now() - interval '1 minute' AND $1::text IS NULL GROUP BY n.event`,
  `SELECT NULL::text AS run, format('The notification %s (%s) was due at %s, and is not tried.', n.id, n.event,
      to_char(n.due_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')) AS says
    FROM notification n WHERE n.state = 'pending' AND n.due_at < now() - interval '1 minute' AND $1::text IS NULL`,
);
