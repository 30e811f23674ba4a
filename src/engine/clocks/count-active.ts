import type { Sql } from '../../platform/db/contract.js';

/** Maximum time that one look counts, since a process that was paused was not active. */
const MOST_MS = 5_000;
/** An advance that starts this soon after another one's look continues its count. */
const RECENT_MS = 1_200;

/** SQL: the part of the time since the last look that a wait up to `active_until` covers, ms. */
const WAITED_MS = `extract(epoch FROM least(clock_timestamp(), coalesce(active_until, active_at)) - active_at) * 1000`;

/**
 * Counts the time since the last look as active, or starts to count. Each moment counts once, however many advances are
 * active. Returns the ms that are left, or null when the run has ended.
 */
export async function countActive(sql: Sql, clock: string, begins: boolean): Promise<number | null> {
  const [row] = await sql.query<{ left: number }>({
    name: 'count-active',
    text: `UPDATE run SET
        active_ms = active_ms + CASE
          WHEN active_at IS NULL OR ($2 AND active_at > clock_timestamp() - $4 * interval '1 ms') THEN 0
          ELSE greatest(0, ${WAITED_MS}, CASE WHEN $2 THEN 0
            ELSE least($3::float8, extract(epoch FROM clock_timestamp() - active_at) * 1000) END) END,
        active_at = CASE WHEN $2 AND active_at > clock_timestamp() - $4 * interval '1 ms' THEN active_at ELSE clock_timestamp() END
      WHERE id = $1 AND finished_at IS NULL RETURNING (active_limit_ms - active_ms)::float8 AS left`,
    values: [clock, begins, MOST_MS, RECENT_MS],
  });
  return row?.left ?? null;
}

/**
 * Records that a lane waits until `until` (epoch ms) for something that counts as active time, such as its provider. No
 * advance updates the clock meanwhile, so the next one counts the wait. Returns the ms that are left now, or null when
 * the run has ended.
 */
export async function countWait(sql: Sql, clock: string, until: number): Promise<number | null> {
  const left = await countActive(sql, clock, false);
  await sql.query({
    name: 'count-wait',
    text: `UPDATE run SET active_until = greatest(active_until, to_timestamp($2::float8 / 1000))
      WHERE id = $1 AND finished_at IS NULL`,
    values: [clock, until],
  });
  return left;
}
