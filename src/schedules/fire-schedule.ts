import type { Sql } from '../db/contract.js';
import type { Deps } from '../deps.js';
import { type BegunRun, tellBegun } from '../runs/index.js';
import { failpoint } from '../shared/failpoint.js';
import type { FlowRef } from '../workflows/contract.js';
import type { WorkspaceRow } from '../workspaces/index.js';
import { beginFiring } from './begin-firing.js';
import { type Due, dueTimes } from './due-times.js';
import { endLast } from './end-last.js';
import { forgetFirings, recordFiring, recordLeftOut } from './record-firing.js';
import { isFiring, liveScheduled, lockSchedule, type ScheduleRow } from './schedule-row.js';
import { hasFewTold, tellSchedules } from './tell-schedules.js';

/** Most that stand in line behind a run (`overlap: queue`). */
const MOST_WAITING = 100;

/**
 * Does what is due of a flow's schedule, in one transaction: the runs, what became of each time, and how far that is
 * settled. Temporal's word only wakes it, so a word that comes twice, late or for another's time does no harm. `at` is
 * that word's moment: the times up to it are due, whatever our own clock says.
 */
export async function fireSchedule(deps: Deps, ref: FlowRef, at: number): Promise<void> {
  const now = Math.max(at, deps.clock.now());
  await endLast(deps, ref, now);
  const begun = await deps.db.transaction(async (sql) => {
    const found = await lockSchedule(sql, ref);
    if (!found || !isFiring(found.schedule)) return [];
    const due = dueTimes(found.schedule, now);
    const runs = await fireAll(deps, sql, { ref, ...found, due });
    if (runs.length > 0) failpoint('firing-written');
    await settle(sql, ref, found.schedule, now);
    return runs;
  });
  if (begun.length > 0) failpoint('firing-committed');
  for (const run of begun) tellBegun(deps, run);
  await tellSchedules(deps, ref);
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
    // What is made up for stands in line, so that `all` is all: only what comes while a run goes is skipped.
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

/** What becomes of a time while the last run still goes; null when it may start. */
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
  const reason = run === undefined ? 'others wait before it' : `run ${run} of this schedule still went`;
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

async function settle(sql: Sql, ref: FlowRef, schedule: ScheduleRow, now: number): Promise<void> {
  await forgetFirings(sql, ref);
  await sql.query({
    name: 'settle-schedule',
    text: `UPDATE schedule SET settled_until = greatest(settled_until, to_timestamp($3::float8 / 1000)), told = told AND NOT $4
      WHERE workspace_id = $1 AND flow = $2`,
    values: [ref.workspace, ref.flow, now, hasFewTold(schedule, now)],
  });
}
