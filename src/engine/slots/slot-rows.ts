import type { Sql } from '../../platform/db/contract.js';
import type { SlotClaim } from './slot-of.js';

/**
 * Serializes all changes of a workspace's slots until the transaction ends: only the transaction that counts holders
 * may add one. Taken before any run's row is locked.
 */
export async function lockSlots(sql: Sql, workspaceId: string): Promise<void> {
  await sql.query({
    name: 'lock-slots',
    text: 'SELECT pg_advisory_xact_lock(hashtextextended($1, 4))',
    values: [`slots/${workspaceId}`],
  });
}

export interface SlotRun {
  readonly id: string;
  readonly workspaceId: string;
}

/** Adds the run's place under its key, without a slot yet. A repeat changes nothing. */
export async function addSlot(sql: Sql, run: SlotRun, { key, limit }: SlotClaim): Promise<void> {
  await sql.query({
    name: 'add-slot',
    text: `INSERT INTO slot (run_id, workspace_id, key, most) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
    values: [run.id, run.workspaceId, key, limit],
  });
}

/** The holders of a key, the one that has held longest first. */
export async function holdersOf(sql: Sql, workspaceId: string, key: string): Promise<string[]> {
  const rows = await sql.query<{ id: string }>({
    name: 'slot-holders',
    text: 'SELECT run_id AS id FROM slot WHERE workspace_id = $1 AND key = $2 AND held ORDER BY since, run_id',
    values: [workspaceId, key],
  });
  return rows.map(({ id }) => id);
}

export interface LanePlace {
  readonly runId: string;
  readonly lane: string;
  readonly workspaceId: string;
  /** The slots that it needs, by their runs. */
  readonly slots: readonly string[];
  /** The run has no workflow yet. */
  readonly starts?: boolean;
}

/**
 * Puts a lane in line for its slots. A lane that is in line keeps its place; one that holds its slots is `busy`.
 * `fresh` is true for a lane that was not in line before.
 */
export async function joinSlotLine(sql: Sql, place: LanePlace): Promise<{ busy: boolean; fresh: boolean }> {
  const [row] = await sql.query<{ state: string; fresh: boolean }>({
    name: 'slot-line',
    text: `INSERT INTO slot_lane (run_id, lane, workspace_id, slots, state, starts) VALUES ($1, $2, $3, $4, 'waiting', $5)
      ON CONFLICT (run_id, lane) DO UPDATE SET room = NULL,
        state = CASE WHEN slot_lane.state IN ('forked', 'put-off') THEN 'waiting' ELSE slot_lane.state END,
        since = CASE WHEN slot_lane.state IN ('forked', 'put-off') THEN now() ELSE slot_lane.since END,
        place = CASE WHEN slot_lane.state IN ('forked', 'put-off') THEN excluded.place ELSE slot_lane.place END
      RETURNING state, place = currval(pg_get_serial_sequence('slot_lane', 'place')) AS fresh`,
    values: [place.runId, place.lane, place.workspaceId, place.slots, place.starts ?? false],
  });
  return { busy: row?.state === 'busy', fresh: row?.fresh ?? false };
}

/** The park of a lane that waits for a slot. It has no park row: its place in line is the row. */
export function slotPark(runId: string, lane: string): string {
  return `${runId}~${lane}~slot`;
}
