import type { Deps } from '../../deps.js';
import { announceStarted } from '../../runs/index.js';
import { forEachIndependently } from '../../shared/for-each-independently.js';
import type { FlowRef } from '../../workflows/contract.js';
import { beginFiring } from './begin-firing.js';
import { isOn, liveScheduled, lockSchedule } from './schedule-row.js';

/** Starts the oldest waiting time of each flow whose last run has ended, until the signal is aborted. */
export async function startWaiting(deps: Deps, signal?: AbortSignal): Promise<void> {
  const flows = await deps.db.query<FlowRef>({
    name: 'waiting-firings',
    text: `SELECT DISTINCT f.workspace_id AS workspace, f.flow FROM firing f WHERE f.outcome = 'waiting'
      AND NOT EXISTS (SELECT 1 FROM run r WHERE r.workspace_id = f.workspace_id AND r.flow = f.flow
        AND r.finished_at IS NULL AND r.trigger->>'kind' = 'schedule' AND r.parent_id IS NULL)`,
    values: [],
  });
  await forEachIndependently(flows, async (ref) => {
    if (!signal?.aborted) await startOldest(deps, ref);
  });
}

async function startOldest(deps: Deps, ref: FlowRef): Promise<void> {
  const run = await deps.db.transaction(async (sql) => {
    const found = await lockSchedule(sql, ref);
    // Skip the waiting times of a flow that no longer fires.
    if (!found || !isOn(found.schedule)) {
      await sql.query(
        `UPDATE firing SET outcome = 'skipped', reason = 'the schedule was paused or removed' WHERE workspace_id = $1 AND flow = $2 AND outcome = 'waiting'`,
        [ref.workspace, ref.flow],
      );
      return null;
    }
    if ((await liveScheduled(sql, ref)).length > 0) return null;
    const [oldest] = await sql.query<{ at: Date }>(
      `SELECT scheduled_for AS at FROM firing WHERE workspace_id = $1 AND flow = $2 AND outcome = 'waiting' ORDER BY scheduled_for LIMIT 1`,
      [ref.workspace, ref.flow],
    );
    if (!oldest) return null;
    const { firing, run } = await beginFiring(deps, sql, { ...found, flow: ref.flow, at: oldest.at.getTime() });
    await sql.query(
      'UPDATE firing SET outcome = $4, reason = $5, run_id = $6, at = now() WHERE workspace_id = $1 AND flow = $2 AND scheduled_for = $3',
      [ref.workspace, ref.flow, oldest.at, firing.outcome, firing.reason ?? null, firing.runId ?? null],
    );
    return run;
  });
  if (run) announceStarted(deps, run);
}
