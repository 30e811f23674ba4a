import type { ScheduleBody, ScheduleList } from '../../contract/schedules.js';
import type { Deps } from '../../deps.js';
import { nextTimes } from '../../format/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { cursorsOf, KEY, type PageInput } from '../../shared/cursor.js';
import type { Caller } from '../../shared/roles.js';
import { isFiring, SCHEDULE_COLUMNS, type ScheduleRow, scheduleFault } from './schedule-row.js';

const cursors = cursorsOf('schedules', [KEY, KEY]);

interface Row extends Omit<ScheduleRow, 'workspace'> {
  readonly name: string;
  readonly lastRun: ScheduleBody['lastRun'];
  readonly firings: ScheduleBody['firings'];
}

const SHOWN = 3;
/** Formats a timestamp as the API does. */
const iso = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const LIST = `SELECT ${SCHEDULE_COLUMNS}, w.name,
    (SELECT jsonb_build_object('id', r.id, 'status', r.status, 'scheduledFor', r.trigger->>'scheduled_for',
        'createdAt', ${iso('r.created_at')}, 'finishedAt', ${iso('r.finished_at')})
      FROM run r WHERE r.workspace_id = s.workspace_id AND r.flow = s.flow AND r.trigger->>'kind' = 'schedule'
        AND r.parent_id IS NULL AND r.rerun_of IS NULL ORDER BY r.created_at DESC, r.id DESC LIMIT 1) AS "lastRun",
    (SELECT coalesce(jsonb_agg(jsonb_build_object('scheduledFor', ${iso('f.scheduled_for')}, 'until', ${iso('f.until')}, 'times', f.times,
        'outcome', f.outcome, 'reason', f.reason, 'runId', f.run_id) ORDER BY f.scheduled_for DESC), '[]')
      FROM (SELECT * FROM firing WHERE workspace_id = s.workspace_id AND flow = s.flow ORDER BY scheduled_for DESC LIMIT 5) f) AS firings
  FROM schedule s JOIN workspace w ON w.id = s.workspace_id
  WHERE s.tenant_id = $1 AND NOT s.gone AND ($2::text[] IS NULL OR w.name = ANY($2))
    AND ($3::text IS NULL OR (w.name, s.flow) > ($3, $4)) AND ($5::text IS NULL OR (w.name, s.flow) = ($5, $6))
  ORDER BY w.name, s.flow LIMIT $7`;

type Seen = Pick<Deps, 'clock'> & { readonly db: Sql };

export async function listSchedules(deps: Seen, caller: Caller, input: PageInput): Promise<ScheduleList> {
  const [workspace = null, flow = null] = cursors.read(input.cursor) ?? [];
  const values = [caller.tenant, caller.workspaces, workspace, flow, null, null, input.limit + 1];
  const rows = await deps.db.query<Row>({ name: 'list-schedules', text: LIST, values });
  const { page, next } = cursors.page(rows, input.limit, (row) => [row.name, row.flow]);
  return { schedules: page.map((row) => viewOf(row, deps.clock.now())), next };
}

/** Null when the caller may see no such schedule. */
export async function readSchedule(
  deps: Seen,
  caller: Caller,
  workspace: string,
  flow: string,
): Promise<ScheduleBody | null> {
  const values = [caller.tenant, caller.workspaces, null, null, workspace, flow, 1];
  const [row] = await deps.db.query<Row>({ name: 'list-schedules', text: LIST, values });
  return row ? viewOf(row, deps.clock.now()) : null;
}

function viewOf(row: Row, now: number): ScheduleBody {
  const { name, flow, cron, timezone, enabled, paused, catchUp, overlap, lastRun, firings } = row;
  const next = isFiring(row) ? nextTimes(row, now, SHOWN).map((at) => new Date(at).toISOString()) : [];
  const fault = scheduleFault(row);
  return { workspace: name, flow, cron, timezone, next, fault, lastRun, enabled, paused, catchUp, overlap, firings };
}
