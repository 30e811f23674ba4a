import type { Sql } from '../../platform/db/contract.js';
import { CHILDREN_OF } from '../rows/children-of.js';

/**
 * The slots that are needed: a lane under them is active, or ready. Ready lanes are: started and not waiting, with a
 * decided park, with ended branches or children, and as many unstarted lanes of a fork as it has room for. A lane in
 * line for a slot is not ready, nor is a postponed one.
 */
const NEEDED = `WITH want AS (
    SELECT s.run_id AS slot, r.root_id FROM slot s JOIN run r ON r.id = s.run_id WHERE s.run_id = ANY($1) AND s.held),
  lanes AS MATERIALIZED (
    SELECT w.slot, l.run_id, l.lane, l.state, l.turn, ARRAY(SELECT h.id FROM (SELECT 1) one ${CHILDREN_OF}) AS children, q.state AS place,
        regexp_replace(l.lane, '/[^/]*$', '') AS parent, regexp_replace(l.lane, '\\.\\d+$', '') AS fork
      FROM want w JOIN run r ON r.root_id = w.root_id AND w.slot = ANY(r.slots) AND r.finished_at IS NULL
      JOIN lane l ON l.run_id = r.id AND l.state NOT IN ('done', 'failed')
      LEFT JOIN slot_lane q ON q.run_id = l.run_id AND q.lane = l.lane),
  forks AS (
    SELECT slot, run_id, parent, count(*) FILTER (WHERE state <> 'running' OR turn > 0) AS begun,
        bool_or(state = 'running' AND turn = 0) AS more
      FROM lanes WHERE lane <> 'main' GROUP BY slot, run_id, parent, fork)
  SELECT slot FROM lanes WHERE place = 'busy' OR (coalesce(place, '') NOT IN ('waiting', 'put-off') AND CASE state
      WHEN 'parked' THEN NOT EXISTS (SELECT 1 FROM park p
        WHERE p.run_id = lanes.run_id AND p.lane = lanes.lane AND p.decided_at IS NULL)
      WHEN 'forked' THEN NOT EXISTS (SELECT 1 FROM lanes c
        WHERE c.slot = lanes.slot AND c.run_id = lanes.run_id AND c.parent = lanes.lane AND c.lane <> lanes.lane)
      WHEN 'child' THEN NOT EXISTS (SELECT 1 FROM run c WHERE c.id = ANY(lanes.children) AND c.finished_at IS NULL)
      ELSE lane = 'main' OR turn > 0 END)
  UNION SELECT f.slot FROM forks f JOIN slot_lane q ON q.run_id = f.run_id AND q.lane = f.parent
    WHERE f.more AND f.begun < q.room`;

/** Frees those of the slots that no lane needs, and deletes those of ended runs. Call it under `lockSlots`. */
export async function freeSlots(sql: Sql, slots: readonly string[]): Promise<void> {
  const needed = await sql.query<{ slot: string }>({ name: 'slots-needed', text: NEEDED, values: [slots] });
  const idle = slots.filter((slot) => !needed.some((row) => row.slot === slot));
  if (idle.length === 0) return;
  await sql.query({
    name: 'free-slots',
    text: `WITH ended AS (DELETE FROM slot s WHERE s.run_id = ANY($1)
          AND NOT EXISTS (SELECT 1 FROM run r WHERE r.id = s.run_id AND r.finished_at IS NULL) RETURNING s.run_id)
      UPDATE slot SET held = false WHERE run_id = ANY($1) AND held AND run_id NOT IN (SELECT run_id FROM ended)`,
    values: [idle],
  });
}
