import type { ScheduleBody, ScheduleList } from '../../contract/schedules.js';
import type { Deps } from '../../deps.js';
import { nextTimes } from '../../format/index.js';
import { lockWorkspace, type WorkspaceRow } from '../../people/index.js';
import type { Sql, TableRow } from '../../platform/db/contract.js';
import { cursorsOf, KEY, type PageInput } from '../../shared/cursor.js';
import { errorMessage } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import type { FlowRef } from '../../workflows/contract.js';

/**
 * When a live flow fires, as its revision declares it. A database trigger updates the row in the deploy's transaction.
 */
export interface ScheduleRow
  extends Pick<
    TableRow<'Schedule'>,
    'flow' | 'cron' | 'timezone' | 'enabled' | 'paused' | 'gone' | 'settledUntil' | 'version'
  > {
  /** The workspace's id. */
  readonly workspace: string;
  readonly catchUp: 'last' | 'none' | 'all';
  readonly overlap: 'skip' | 'queue' | 'allow' | 'cancel';
  readonly synced: boolean;
  readonly syncedUntil: Date | null;
}

export const SCHEDULE_COLUMNS = `s.workspace_id AS workspace, s.flow, s.cron, s.timezone, s.catch_up AS "catchUp", s.overlap,
  s.enabled, s.paused, s.gone, s.settled_until AS "settledUntil", s.version, s.told AS synced, s.told_until AS "syncedUntil"`;

/**
 * Why the times of a schedule cannot be computed; null when they can. A deploy refuses such a line, but a row may
 * predate that check, and names of time zones change. One such row must not hide the others.
 */
export function scheduleFault(schedule: Pick<ScheduleRow, 'cron' | 'timezone'>): string | null {
  try {
    nextTimes(schedule, Date.now(), 1);
    return null;
  } catch (error) {
    return `cannot be read: cron \`${schedule.cron}\` in the time zone ${schedule.timezone}: ${errorMessage(error)}`;
  }
}

/** Locks a schedule after its workspace, in the order of deploys; null when it is missing or deleted. */
export async function lockSchedule(
  sql: Sql,
  ref: FlowRef,
): Promise<{ readonly workspace: WorkspaceRow; readonly schedule: ScheduleRow } | null> {
  const workspace = await lockWorkspace(sql, ref.workspace);
  if (!workspace) return null;
  const [schedule] = await sql.query<ScheduleRow>({
    name: 'lock-schedule',
    text: `SELECT ${SCHEDULE_COLUMNS} FROM schedule s WHERE workspace_id = $1 AND flow = $2 AND NOT gone FOR UPDATE`,
    values: [ref.workspace, ref.flow],
  });
  return schedule ? { workspace, schedule } : null;
}

/** True if the schedule is enabled, not paused and not deleted. */
export function isOn({ enabled, paused, gone }: Pick<ScheduleRow, 'enabled' | 'paused' | 'gone'>): boolean {
  return enabled && !paused && !gone;
}

/** True if it is on and its times can be computed. */
export function isFiring(schedule: Parameters<typeof isOn>[0] & Parameters<typeof scheduleFault>[0]): boolean {
  return isOn(schedule) && scheduleFault(schedule) === null;
}

export type Outcome = 'started' | 'waiting' | 'skipped' | 'refused';

/** Active runs that this schedule started. */
export async function liveScheduled(sql: Sql, { workspace, flow }: FlowRef): Promise<string[]> {
  const rows = await sql.query<{ id: string }>({
    name: 'live-scheduled',
    text: `SELECT id FROM run WHERE workspace_id = $1 AND flow = $2 AND finished_at IS NULL
      AND trigger->>'kind' = 'schedule' AND parent_id IS NULL AND rerun_of IS NULL ORDER BY id`,
    values: [workspace, flow],
  });
  return rows.map(({ id }) => id);
}

/** The input of a scheduled run. */
export function inputOf(at: number): { scheduled_for: string } {
  return { scheduled_for: new Date(at).toISOString() };
}

const cursors = cursorsOf('schedules', [KEY, KEY]);

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

interface Row extends Omit<ScheduleRow, 'workspace'> {
  readonly name: string;
  readonly lastRun: ScheduleBody['lastRun'];
  readonly firings: ScheduleBody['firings'];
}

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
