import type { Deps } from '../../deps.js';
import { nextTimes } from '../../format/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { findDrift } from './reconcile-schedules.js';
import { isOn, SCHEDULE_COLUMNS, type ScheduleRow, scheduleFault } from './schedule-row.js';

/** A due time this late was missed by every worker. */
const LATE_MS = 120_000;

/**
 * Rows that differ from the live revisions. A full join by flow; rows that are `gone` await deletion and do not count.
 */
const UNLIKE = `SELECT coalesce(l.workspace_id, s.workspace_id) AS workspace, coalesce(l.flow, s.flow) AS flow,
    CASE WHEN s.flow IS NULL THEN 'is scheduled in its live revision, and has no row of a schedule'
      WHEN l.flow IS NULL THEN 'has a row of a schedule that its live revision does not ask for'
      ELSE 'has a row of a schedule that differs from its live revision' END AS says
  FROM scheduled_flows(ARRAY(SELECT id FROM workspace WHERE preview_of IS NULL)) l
    FULL JOIN (SELECT * FROM schedule WHERE NOT gone) s ON s.workspace_id = l.workspace_id AND s.flow = l.flow
  WHERE (l.cron, l.timezone, l.catch_up, l.overlap, l.enabled)
    IS DISTINCT FROM (s.cron, s.timezone, s.catch_up, s.overlap, s.enabled)`;

const STUCK = `SELECT f.workspace_id AS workspace, f.flow,
    format('has a time, %s, that waits for a run before it, and none is at work', to_char(min(f.scheduled_for) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')) AS says
  FROM firing f WHERE f.outcome = 'waiting' AND f.at < now() - interval '1 minute'
    AND NOT EXISTS (SELECT 1 FROM run r WHERE r.workspace_id = f.workspace_id AND r.flow = f.flow
      AND r.trigger->>'kind' = 'schedule' AND r.parent_id IS NULL
      AND (r.finished_at IS NULL OR r.finished_at > now() - interval '1 minute'))
  GROUP BY f.workspace_id, f.flow`;

const TWICE = `SELECT r.workspace_id AS workspace, r.flow,
    format('was started %s times by its schedule for %s', count(*), r.trigger->>'scheduled_for') AS says
  FROM run r WHERE r.trigger->>'kind' = 'schedule' AND r.started_by->>'kind' = 'clock' AND r.parent_id IS NULL
    AND r.rerun_of IS NULL GROUP BY r.workspace_id, r.flow, r.trigger->>'scheduled_for' HAVING count(*) > 1`;

export interface ScheduleFault {
  /** The workspace's id. */
  readonly workspace: string;
  readonly flow: string;
  /** A predicate whose subject is the flow. */
  readonly says: string;
}

/**
 * Finds faults of schedules: rows against live revisions, Temporal against rows, and due times against their outcomes.
 */
export async function auditSchedules(
  deps: Pick<Deps, 'db' | 'workflows'>,
  now: number,
): Promise<readonly ScheduleFault[]> {
  const faults: ScheduleFault[] = [];
  for (const query of [UNLIKE, STUCK, TWICE]) faults.push(...(await deps.db.query<ScheduleFault>(query)));
  return [...faults, ...(await findUnfired(deps.db, now)), ...(await findDrift(deps, now))];
}

async function findUnfired(sql: Sql, now: number): Promise<ScheduleFault[]> {
  const rows = await sql.query<ScheduleRow>(`SELECT ${SCHEDULE_COLUMNS} FROM schedule s`);
  return rows.filter(isOn).flatMap((row) => {
    const fault = scheduleFault(row);
    if (fault !== null) return [{ workspace: row.workspace, flow: row.flow, says: fault }];
    const [due] = nextTimes(row, row.settledUntil.getTime(), 1, now - LATE_MS);
    if (due === undefined) return [];
    const { workspace, flow } = row;
    return [{ workspace, flow, says: `was due at ${new Date(due).toISOString()}, and has no outcome` }];
  });
}
