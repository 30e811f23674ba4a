import type { Deps } from '../../deps.js';
import type { Sql } from '../../platform/db/contract.js';
import { toJson } from '../../shared/exact-json.js';
import type { ClaimedRun } from '../journal/claim.js';
import { announceRuns } from '../outbox/announce-runs.js';
import { endRuns } from '../rows/end-runs.js';

/**
 * Lanes of the case's run that can still move: an active lane, or one whose fork or child has ended and which
 * continues. A lane of an each that waits behind parked ones cannot.
 */
const OPEN = `WITH tree AS (SELECT id, finished_at FROM run WHERE root_id = $1)
  SELECT l.run_id AS "runId", l.lane, l.state,
    CASE l.state
      WHEN 'running' THEN NOT (l.turn = 0 AND l.item IS NOT NULL AND EXISTS (
        SELECT 1 FROM lane s WHERE s.run_id = l.run_id AND s.state IN ('parked', 'child')
          AND regexp_replace(s.lane, '\\.\\d+$', '') = regexp_replace(l.lane, '\\.\\d+$', '')))
      WHEN 'child' THEN NOT EXISTS (SELECT 1 FROM run c WHERE c.parent_id = l.run_id AND c.finished_at IS NULL
        AND (c.id = l.loops->>'child' OR coalesce(l.loops->'handed', '[]') ? c.id))
      WHEN 'forked' THEN NOT EXISTS (SELECT 1 FROM lane s WHERE s.run_id = l.run_id AND starts_with(s.lane, l.lane || '/')
        AND s.state NOT IN ('done', 'failed'))
      ELSE false END AS moves
  FROM lane l JOIN tree t ON t.id = l.run_id WHERE t.finished_at IS NULL AND l.state NOT IN ('done', 'failed')`;

/** The parked lanes: the path of each from the root, and what it waits for. */
const PARKED = `WITH RECURSIVE tree AS (
    SELECT id, ''::text AS path FROM run WHERE id = $1
    UNION ALL SELECT c.id, tree.path || (c.trigger->>'step') || '/' FROM run c JOIN tree ON c.parent_id = tree.id)
  SELECT DISTINCT tree.path || p.step AS step, p.kind FROM tree JOIN lane l ON l.run_id = tree.id AND l.state = 'parked'
    JOIN park p ON p.run_id = l.run_id AND p.lane = l.lane AND p.decided_at IS NULL
  WHERE p.step = (SELECT s.id FROM step s WHERE s.run_id = p.run_id AND s.lane = p.lane AND s.status = 'waiting' LIMIT 1)
  ORDER BY step, kind`;

/**
 * Ends the run of a case once nothing of it can move and something is parked, since no person decides what the case
 * leaves open. Call it after each stop of a lane: the last one to stop sees all others stopped. Returns true if the run
 * has ended.
 */
export async function endParkedCase(deps: Deps, run: Pick<ClaimedRun, 'mode' | 'rootId'>): Promise<boolean> {
  if (run.mode !== 'eval') return false;
  const { rootId } = run;
  if (!(await hasStopped(deps.db, rootId))) return false;
  const ended = await deps.db.transaction(async (sql) => {
    await sql.query('SELECT 1 FROM run WHERE id = $1 FOR UPDATE', [rootId]);
    if (!(await hasStopped(sql, rootId))) return [];
    const parked = await sql.query<{ step: string; kind: string }>(PARKED, [rootId]);
    await sql.query('UPDATE eval_attempt SET parked = $2 WHERE run_id = $1', [rootId, toJson(parked)]);
    const where = parked.map(({ step }) => step).join(', ');
    return endRuns(sql, [rootId], { error: `parked at ${where}: the case has no decision for it`, stopped: false });
  });
  void announceRuns(deps, ended);
  return ended.length > 0;
}

async function hasStopped(sql: Sql, rootId: string): Promise<boolean> {
  const open = await sql.query<{ state: string; moves: boolean }>({ name: 'case-lanes', text: OPEN, values: [rootId] });
  return open.some(({ state }) => state === 'parked') && open.every(({ moves }) => !moves);
}
