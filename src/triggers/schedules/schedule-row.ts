import { nextTimes } from '../../format/index.js';
import { lockWorkspace, type WorkspaceRow } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { errorMessage } from '../../shared/refusal.js';
import type { FlowRef } from '../../workflows/contract.js';

/**
 * When a live flow fires, as its revision declares it. A database trigger keeps it in line, in the deploy's
 * transaction.
 */
export interface ScheduleRow {
  /** The workspace's id. */
  readonly workspace: string;
  readonly flow: string;
  readonly cron: string;
  readonly timezone: string;
  readonly catchUp: 'last' | 'none' | 'all';
  readonly overlap: 'skip' | 'queue' | 'allow' | 'cancel';
  readonly enabled: boolean;
  readonly paused: boolean;
  readonly gone: boolean;
  /** Every time up to this one has fired or was left out. */
  readonly settledUntil: Date;
  readonly version: bigint;
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

/** Locks a schedule, after its workspace, which is the order of deploys; null when there is none that lives. */
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
