import type { Deps } from '../../deps.js';
import { announceRuns } from '../outbox/announce-runs.js';
import { freeSlots } from './free-slots.js';
import { type GrantedLane, grantSlots } from './grant-slots.js';
import { lockSlots } from './slot-rows.js';

/**
 * Frees slots of stopped runs and dead workers, and grants them to those in line. It reads the rows again under the
 * lock, so it may run anywhere, at any time, and concurrently. Returns the lanes that continue.
 * Stops between two workspaces once the signal is aborted.
 */
export async function sweepSlots(deps: Deps, signal?: AbortSignal): Promise<GrantedLane[]> {
  const granted: GrantedLane[] = [];
  for (const id of await workspacesWithSlots(deps)) {
    if (signal?.aborted) break;
    granted.push(...(await sweepWorkspace(deps, id)));
  }
  await announceRuns(
    deps,
    granted.map((one) => one.runId),
  );
  return granted;
}

/** Workspaces in which a run that is not parked holds a slot or waits for one. */
async function workspacesWithSlots(deps: Deps): Promise<string[]> {
  const rows = await deps.db.query<{ id: string }>({
    name: 'slot-workspaces',
    text: `SELECT s.workspace_id AS id FROM slot s JOIN run r ON r.id = s.run_id WHERE s.held OR r.finished_at IS NOT NULL
      UNION SELECT workspace_id FROM slot_lane WHERE state = 'waiting'`,
  });
  return rows.map(({ id }) => id);
}

function sweepWorkspace(deps: Deps, workspaceId: string): Promise<GrantedLane[]> {
  return deps.db.transaction(async (sql) => {
    await lockSlots(sql, workspaceId);
    await sql.query(
      `DELETE FROM slot_lane q WHERE q.workspace_id = $1 AND NOT EXISTS (
        SELECT 1 FROM run r JOIN lane l ON l.run_id = r.id
          WHERE r.id = q.run_id AND r.finished_at IS NULL AND l.lane = q.lane AND l.state NOT IN ('done', 'failed'))`,
      [workspaceId],
    );
    const slots = await sql.query<{ id: string }>(
      `SELECT s.run_id AS id FROM slot s LEFT JOIN run r ON r.id = s.run_id
        WHERE s.workspace_id = $1 AND (s.held OR r.id IS NULL OR r.finished_at IS NOT NULL)`,
      [workspaceId],
    );
    await freeSlots(
      sql,
      slots.map(({ id }) => id),
    );
    return grantSlots(sql, workspaceId);
  });
}
