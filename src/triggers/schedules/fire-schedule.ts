import type { Deps } from '../../deps.js';
import { abortLive, announceRuns, endRuns } from '../../engine/index.js';
import type { WorkspaceRow } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { announceStarted, type BegunRun } from '../../runs/index.js';
import { failpoint } from '../../shared/failpoint.js';
import type { FlowRef } from '../../workflows/contract.js';
import { beginFiring, deleteOldFirings, recordFiring, recordLeftOut } from './begin-firing.js';
import { type Due, dueTimes } from './due-times.js';
import { isFiring, liveScheduled, lockSchedule, type ScheduleRow } from './schedule-row.js';
import { needsMoreMoments, syncSchedules } from './sync-schedules.js';

/** Maximum number of runs that wait behind an active run (`overlap: queue`). */
const MOST_WAITING = 100;

/**
 * Processes the due times of a flow's schedule in one transaction: the runs, the outcome of each time, and the time up
 * to which all is settled. Temporal's call only wakes it, so a call that is repeated, late or for another time does no
 * harm. Times up to `at`, the moment of the call, are due, even if the local clock is behind.
 */
export async function fireSchedule(deps: Deps, ref: FlowRef, at: number): Promise<void> {
  const now = Math.max(at, deps.clock.now());
  await endPreviousRuns(deps, ref, now);
  const begun = await deps.db.transaction(async (sql) => {
    const found = await lockSchedule(sql, ref);
    if (!found || !isFiring(found.schedule)) return [];
    const due = dueTimes(found.schedule, now);
    const runs = await fireAll(deps, sql, { ref, ...found, due });
    if (runs.length > 0) failpoint('firing-written');
    await advanceCursor(sql, ref, found.schedule, now);
    return runs;
  });
  if (begun.length > 0) failpoint('firing-committed');
  for (const run of begun) announceStarted(deps, run);
  await syncSchedules(deps, ref);
}

interface Fire {
  readonly ref: FlowRef;
  readonly workspace: WorkspaceRow;
  readonly schedule: ScheduleRow;
  readonly due: Due;
}

async function fireAll(deps: Deps, sql: Sql, { ref, workspace, schedule, due }: Fire): Promise<BegunRun[]> {
  if (due.leftOut) await recordLeftOut(sql, ref, due.leftOut, 'missed: no worker fired it in its time');
  const runs: BegunRun[] = [];
  for (const [index, at] of due.start.entries()) {
    // Caught-up times wait in line, so that `all` fires all of them. Only new times are skipped while a run is active.
    const isMadeUp = index < due.start.length - 1 || (index > 0 && schedule.catchUp === 'all');
    const wait = await waitOf(sql, ref, schedule, isMadeUp);
    if (wait) {
      await recordFiring(sql, ref, { at, ...wait });
      continue;
    }
    const { firing, run } = await beginFiring(deps, sql, { workspace, flow: ref.flow, at });
    await recordFiring(sql, ref, firing);
    if (run) runs.push(run);
  }
  return runs;
}

/** The outcome of a time while the last run is still active; null when it may start. */
async function waitOf(
  sql: Sql,
  ref: FlowRef,
  { overlap }: ScheduleRow,
  isMadeUp: boolean,
): Promise<{ outcome: 'waiting' | 'skipped'; reason: string } | null> {
  if (overlap === 'allow' || overlap === 'cancel') return null;
  const [run] = await liveScheduled(sql, ref);
  const waiting = await countWaiting(sql, ref);
  if (run === undefined && waiting === 0) return null;
  const reason = run === undefined ? 'others wait before it' : `run ${run} of this schedule was still running`;
  if (overlap === 'skip' && !isMadeUp) return { outcome: 'skipped', reason };
  if (waiting >= MOST_WAITING) return { outcome: 'skipped', reason: `${MOST_WAITING} times wait already` };
  return { outcome: 'waiting', reason };
}

async function countWaiting(sql: Sql, { workspace, flow }: FlowRef): Promise<number> {
  const [row] = await sql.query<{ count: number }>({
    name: 'count-waiting',
    text: `SELECT count(*)::int AS count FROM firing WHERE workspace_id = $1 AND flow = $2 AND outcome = 'waiting'`,
    values: [workspace, flow],
  });
  return row?.count ?? 0;
}

async function advanceCursor(sql: Sql, ref: FlowRef, schedule: ScheduleRow, now: number): Promise<void> {
  await deleteOldFirings(sql, ref);
  await sql.query({
    name: 'settle-schedule',
    text: `UPDATE schedule SET settled_until = greatest(settled_until, to_timestamp($3::float8 / 1000)), told = told AND NOT $4
      WHERE workspace_id = $1 AND flow = $2`,
    values: [ref.workspace, ref.flow, now, needsMoreMoments(schedule, now)],
  });
}

/**
 * `overlap: cancel`: ends the schedule's active runs when its next time is due. This is a transaction of its own,
 * before the new run's: after a crash between them, the new run is still due.
 */
async function endPreviousRuns(deps: Deps, ref: FlowRef, now: number): Promise<void> {
  const ended = await deps.db.transaction(async (sql) => {
    const found = await lockSchedule(sql, ref);
    if (!found || !isFiring(found.schedule) || found.schedule.overlap !== 'cancel') return [];
    if (dueTimes(found.schedule, now).start.length === 0) return [];
    const live = await liveScheduled(sql, ref);
    if (live.length === 0) return [];
    await sql.query('SELECT 1 FROM run WHERE id = ANY($1) ORDER BY id FOR UPDATE', [live]);
    return endRuns(sql, live, {
      error: 'stopped by its schedule, whose next time came: overlap: cancel',
      stopped: true,
    });
  });
  if (ended.length > 0) failpoint('last-ended');
  for (const id of ended) abortLive(id);
  void announceRuns(deps, ended);
}
