import type { Deps } from '../../deps.js';
import { closeRun } from '../rows/close-run.js';
import { tellEvents } from '../rows/tell-events.js';
import { post } from './outbox.js';

const GRACE_MS = 60_000;

interface LiveRun {
  readonly id: string;
  readonly parentId: string | null;
  readonly parentEnded: boolean;
}

/**
 * Makes rows and workflows agree, in both directions, from one list of open workflows: a live run whose workflow
 * Temporal has never heard of is started again from its rows; one whose workflow is closed, or that its parent ended
 * without, is ended as lost; an open workflow of an ended run is cancelled.
 */
export async function reconcile(
  deps: Deps,
  graceMs: number = GRACE_MS,
): Promise<{ started: string[]; lost: string[]; cancelled: string[] }> {
  const open = new Set<string>();
  for await (const id of deps.workflows.openRuns()) open.add(id);
  const missing = new Map<string, LiveRun>();
  const lost: string[] = [];
  for (const run of await liveRuns(deps, graceMs)) {
    if (open.has(run.id)) continue;
    const state = await deps.workflows.describeRun(run.id);
    if (state === 'missing' && !run.parentEnded) missing.set(run.id, run);
    else if (state !== 'running' && (await closeRun(deps.db, run.id, 'lost: its workflow has ended without it'))) {
      tellEvents(deps, run.id);
      lost.push(run.id);
    }
  }
  return { started: await startAgain(deps, missing), lost, cancelled: await cancelEnded(deps, open, graceMs) };
}

/** Runs that should have a workflow. A child that was not started yet is its parent's to start, while there is one. */
function liveRuns(deps: Deps, graceMs: number): Promise<LiveRun[]> {
  return deps.db.query<LiveRun>(
    `SELECT r.id, r.parent_id AS "parentId", coalesce(p.finished_at IS NOT NULL, false) AS "parentEnded"
      FROM run r LEFT JOIN run p ON p.id = r.parent_id
      WHERE r.finished_at IS NULL AND r.created_at < now() - $1 * interval '1 ms'
        AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.run_id IN (r.id, r.root_id) AND o.kind = 'start')
        AND NOT EXISTS (SELECT 1 FROM slot_lane q WHERE q.run_id = r.id AND q.state = 'waiting' AND q.starts)
        AND (r.parent_id IS NULL OR r.started_at IS NOT NULL OR p.finished_at < now() - $1 * interval '1 ms')`,
    [graceMs],
  );
}

/** Starts forgotten runs; a child whose parent was forgotten with it is made ready, and started by that one. */
async function startAgain(deps: Deps, missing: ReadonlyMap<string, LiveRun>): Promise<string[]> {
  const started: string[] = [];
  await deps.db.transaction(async (sql) => {
    for (const { id, parentId } of missing.values()) {
      // The new workflow counts its turns from 1: the lanes have to accept them.
      const lanes = await sql.query(
        `UPDATE lane SET turn = 0, attempt = 0, fence = fence + 1 WHERE run_id = $1
          AND EXISTS (SELECT 1 FROM run WHERE id = $1 AND finished_at IS NULL) RETURNING 1`,
        [id],
      );
      if (lanes.length === 0 || (parentId !== null && missing.has(parentId))) continue;
      await post(sql, id, 'start');
      started.push(id);
    }
  });
  return started;
}

async function cancelEnded(deps: Deps, open: ReadonlySet<string>, graceMs: number): Promise<string[]> {
  const ended = await deps.db.query<{ id: string }>(
    `SELECT id FROM run WHERE id = ANY($1) AND finished_at < now() - $2 * interval '1 ms'`,
    [[...open], graceMs],
  );
  for (const { id } of ended) await deps.workflows.cancelRun(id);
  return ended.map(({ id }) => id);
}
