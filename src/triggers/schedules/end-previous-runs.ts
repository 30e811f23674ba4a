import type { Deps } from '../../deps.js';
import { abortLive, announceRuns, endRuns } from '../../engine/index.js';
import { failpoint } from '../../shared/failpoint.js';
import type { FlowRef } from '../../workflows/contract.js';
import { dueTimes } from './due-times.js';
import { isFiring, liveScheduled, lockSchedule } from './schedule-row.js';

/**
 * `overlap: cancel`: ends the schedule's active runs when its next time is due. This is a transaction of its own,
 * before the new run's: after a crash between them, the new run is still due.
 */
export async function endPreviousRuns(deps: Deps, ref: FlowRef, now: number): Promise<void> {
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
