import type { Deps } from '../../deps.js';
import type { Sql } from '../../platform/db/contract.js';
import type { KeptSchedule } from '../../platform/temporal/index.js';
import type { FlowRef } from '../../workflows/contract.js';
import { SCHEDULE_COLUMNS, type ScheduleRow } from './schedule-row.js';
import { nextMoments, noteOf, syncSchedules } from './sync-schedules.js';

export interface Drift extends FlowRef {
  readonly says:
    | 'has no schedule in Temporal'
    | 'has another schedule in Temporal'
    | 'has a schedule in Temporal that nothing asks for';
}

/** How far Temporal's index may lag behind recent firings. */
const LAG_MS = 5_000;

/** Schedules in Temporal that differ from the rows, except rows that are not synced yet. */
export async function findDrift(deps: Pick<Deps, 'db' | 'workflows'>, now: number): Promise<readonly Drift[]> {
  const kept = new Map<string, KeptSchedule>();
  for await (const one of deps.workflows.schedules()) kept.set(keyOf(one.ref), one);
  const rows = await deps.db.query<ScheduleRow>(`SELECT ${SCHEDULE_COLUMNS} FROM schedule s`);
  const found: Drift[] = [];
  for (const row of rows) {
    const one = kept.get(keyOf(row));
    kept.delete(keyOf(row));
    if (!row.synced) continue;
    const says = driftOf(row, one, now);
    if (says) found.push({ workspace: row.workspace, flow: row.flow, says });
  }
  return [
    ...found,
    ...[...kept.values()].map(({ ref }) => ({
      ...ref,
      says: 'has a schedule in Temporal that nothing asks for' as const,
    })),
  ];
}

const keyOf = ({ workspace, flow }: FlowRef): string => `${workspace}/${flow}`;

function driftOf(row: ScheduleRow, kept: KeptSchedule | undefined, now: number): Drift['says'] | null {
  const times = row.enabled ? nextMoments(row, now + LAG_MS) : [];
  if (times.length === 0) return kept ? 'has a schedule in Temporal that nothing asks for' : null;
  if (!kept) return 'has no schedule in Temporal';
  const next = kept.next.filter((at) => at > now + LAG_MS);
  const same =
    kept.paused === row.paused && kept.note === noteOf(row) && next.every((at, index) => at === times[index]);
  // Some versions of the server list no next times of a paused schedule.
  return same && (next.length > 0 || row.paused) ? null : 'has another schedule in Temporal';
}

/**
 * Makes the rows match the live revisions, and Temporal's schedules match the rows. Returns the drift that it found. Stops
 * between two schedules once the signal is aborted.
 */
export async function reconcileSchedules(deps: Deps, signal?: AbortSignal): Promise<readonly Drift[]> {
  await followAll(deps.db);
  const drift = await findDrift(deps, deps.clock.now());
  for (const { workspace, flow } of drift) {
    if (signal?.aborted) return drift;
    const known = await deps.db.query(
      'UPDATE schedule SET told = false WHERE workspace_id = $1 AND flow = $2 RETURNING 1',
      [workspace, flow],
    );
    if (known.length === 0) await deps.workflows.deleteSchedule({ workspace, flow });
  }
  if (drift.length > 0) deps.log.warn({ drift }, 'Temporal schedules had drifted, synced again');
  await syncSchedules(deps, null, signal);
  return drift;
}

/**
 * Derives the schedule rows of all workspaces from their live revisions again. The database trigger does so at each
 * commit, but of two concurrent changes it may have seen the older state.
 */
async function followAll(sql: Sql): Promise<void> {
  await sql.query('SELECT follow_schedules(ARRAY(SELECT id FROM workspace WHERE preview_of IS NULL ORDER BY id))');
}
