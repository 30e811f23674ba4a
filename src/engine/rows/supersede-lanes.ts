import type { Db } from '../../platform/db/contract.js';
import { CHILDREN_OF } from './children-of.js';
import { endRuns } from './end-runs.js';

/** The named lanes, and the lanes forked off them. */
const WITHIN = "EXISTS (SELECT 1 FROM unnest($2::text[]) top WHERE lane = top OR starts_with(lane, top || '/'))";

/**
 * Closes what the losers of a `join: any` left open: their lanes are fenced, their parks superseded, their steps
 * skipped, their child runs ended. A run that has ended is left unchanged. Locks in the common order: lane, run,
 * others.
 */
export async function supersedeLanes(db: Db, runId: string, lanes: readonly string[]): Promise<void> {
  await db.transaction(async (sql) => {
    await sql.query(
      `UPDATE lane SET state = 'failed', error = 'superseded', fence = fence + 1 WHERE run_id = $1 AND ${WITHIN}`,
      [runId, lanes],
    );
    const [run] = await sql.query('SELECT 1 FROM run WHERE id = $1 AND finished_at IS NULL FOR UPDATE', [runId]);
    if (!run) return;
    const parks = await sql.query<{ kind: string }>(
      `UPDATE park SET decided_at = now(), decision = 'superseded'
        WHERE run_id = $1 AND ${WITHIN} AND decided_at IS NULL RETURNING kind`,
      [runId, lanes],
    );
    const steps = await sql.query<{ id: string; item: number; round: number }>(
      `UPDATE step SET status = 'skipped', finished_at = now()
        WHERE run_id = $1 AND ${WITHIN} AND status IN ('running', 'waiting') RETURNING id, item, round`,
      [runId, lanes],
    );
    await sql.query(
      `UPDATE call SET state = 'interrupted', finished_at = now() WHERE run_id = $1 AND ${WITHIN} AND state = 'started' AND kind <> 'model'`,
      [runId, lanes],
    );
    const gates = parks.filter((park) => park.kind === 'approval').length;
    await sql.query(
      `WITH r AS (UPDATE run SET gates_open = gates_open - $2, last_seq = last_seq + $3,
          status = CASE WHEN gates_open - $2 > 0 THEN 'awaiting-approval' ELSE 'running' END
          WHERE id = $1 RETURNING last_seq)
        INSERT INTO run_event (run_id, seq, type, data)
        SELECT $1, r.last_seq - $3 + x.n, 'step.skipped', x.v FROM r, jsonb_array_elements($4::jsonb) WITH ORDINALITY x(v, n)`,
      [
        runId,
        gates,
        steps.length,
        JSON.stringify(steps.map((step) => ({ step: step.id, item: step.item, round: step.round, why: 'superseded' }))),
      ],
    );
    const children = await sql.query<{ id: string }>(
      `SELECT h.id FROM lane l ${CHILDREN_OF} WHERE run_id = $1 AND ${WITHIN}`,
      [runId, lanes],
    );
    const ids = children.map(({ id }) => id);
    const error = 'superseded: another branch was first';
    await endRuns(sql, ids, { error, stopped: false }, { runId, lanes });
  });
}
