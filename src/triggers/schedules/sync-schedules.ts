import type { Deps } from '../../deps.js';
import { cronTimes } from '../../format/index.js';
import { failpoint } from '../../shared/failpoint.js';
import { forEachParallel } from '../../shared/for-each-parallel.js';
import type { FlowRef } from '../../workflows/contract.js';
import { isOn, SCHEDULE_COLUMNS, type ScheduleRow, scheduleFault } from './schedule-row.js';

/** Number of moments that Temporal gets at once; it gets more when half of them have passed. */
const MOMENTS_AT_ONCE = 64;
/** The last moment that Temporal's calendars accept. */
const LAST_MOMENT = Date.UTC(2100, 0, 1);
/** A due time this late was missing in Temporal's schedule, or its wake-up was lost. */
const LATE_MS = 30_000;
const AT_ONCE = 10;

/** The next moments that Temporal needs to know; empty for a schedule whose times cannot be computed. */
export function nextMoments(
  { cron, timezone }: Pick<ScheduleRow, 'cron' | 'timezone'>,
  now: number,
  count = MOMENTS_AT_ONCE,
): number[] {
  const times: number[] = [];
  if (scheduleFault({ cron, timezone }) !== null) return times;
  for (const at of cronTimes(cron, timezone, now)) {
    if (at >= LAST_MOMENT || times.length === count) break;
    times.push(at);
  }
  return times;
}

/** True if less than half of the moments that Temporal got are still ahead, and there are more. */
export function needsMoreMoments(schedule: ScheduleRow, now: number): boolean {
  const last = nextMoments(schedule, now, MOMENTS_AT_ONCE / 2).at(-1);
  return last !== undefined && last > (schedule.syncedUntil?.getTime() ?? 0);
}

/**
 * Sends the schedules that are not synced to Temporal: of one flow, or of all. Returns how many were synced. Begins no
 * further one once the signal is aborted.
 */
export async function syncSchedules(deps: Deps, only: FlowRef | null = null, signal?: AbortSignal): Promise<number> {
  const rows = await deps.db.query<ScheduleRow>({
    name: 'unsynced-schedules',
    text: `SELECT ${SCHEDULE_COLUMNS} FROM schedule s
      WHERE NOT told AND ($1::text IS NULL OR (workspace_id = $1 AND flow = $2)) ORDER BY version LIMIT 200`,
    values: [only?.workspace ?? null, only?.flow ?? null],
  });
  let synced = 0;
  await forEachParallel(rows, AT_ONCE, async (row) => {
    if (!signal?.aborted && (await syncOne(deps, row))) synced += 1;
  });
  return synced;
}

/** Identifies the state that Temporal's schedule was made from. It is kept as the schedule's note. */
export const noteOf = ({ version }: Pick<ScheduleRow, 'version'>): string => `signalbox ${version}`;

async function syncOne(deps: Deps, row: ScheduleRow): Promise<boolean> {
  try {
    const now = deps.clock.now();
    const times = row.gone || !row.enabled ? [] : nextMoments(row, now);
    if (times.length === 0) await deps.workflows.deleteSchedule(row);
    else
      await deps.workflows.putSchedule({
        ref: refOf(row),
        note: noteOf(row),
        times,
        paused: row.paused,
        wake: isLate(row, now),
      });
    failpoint('schedule-synced');
    await markSynced(deps, row, times.at(-1) ?? null);
    logFault(deps, row);
    return true;
  } catch (error) {
    deps.log.warn({ workspace: row.workspace, flow: row.flow, err: error }, 'schedule sync failed, will retry');
    return false;
  }
}

/** Logs once for each version of the row. The doctor and the list of schedules keep showing the fault. */
function logFault({ log }: Deps, row: ScheduleRow): void {
  const fault = isOn(row) ? scheduleFault(row) : null;
  if (fault === null) return;
  log.error(
    { workspace: row.workspace, flow: row.flow, fault },
    'a schedule never fires: deploy its flow with another cron line',
  );
}

const refOf = ({ workspace, flow }: FlowRef): FlowRef => ({ workspace, flow });

function isLate(row: ScheduleRow, now: number): boolean {
  if (row.paused) return false;
  const [due] = nextMoments(row, row.settledUntil.getTime(), 1);
  return due !== undefined && due < now - LATE_MS;
}

/** Marks the row synced. If it changed during the sync, marks it unsynced, so that the newer state is sent again. */
async function markSynced(deps: Deps, row: ScheduleRow, until: number | null): Promise<void> {
  const key = [row.workspace, row.flow, row.version];
  const marked = row.gone
    ? await deps.db.query(
        `WITH f AS (DELETE FROM firing WHERE workspace_id = $1 AND flow = $2
            AND EXISTS (SELECT 1 FROM schedule WHERE workspace_id = $1 AND flow = $2 AND version = $3))
          DELETE FROM schedule WHERE workspace_id = $1 AND flow = $2 AND version = $3 RETURNING 1`,
        key,
      )
    : await deps.db.query(
        `UPDATE schedule SET told = true, told_until = to_timestamp($4::float8 / 1000)
          WHERE workspace_id = $1 AND flow = $2 AND version = $3 RETURNING 1`,
        [...key, until],
      );
  if (marked.length > 0) return;
  await deps.db.query('UPDATE schedule SET told = false WHERE workspace_id = $1 AND flow = $2', [
    row.workspace,
    row.flow,
  ]);
}
