import type { Deps } from '../../deps.js';
import { closeRun } from '../rows/close-run.js';
import { tellEvents } from '../rows/tell-events.js';
import { post } from './outbox.js';

const GRACE_MS = 60_000;

/**
 * Makes rows and workflows agree, in both directions, from one list of open workflows: a live run whose workflow
 * Temporal has never heard of is started again from its rows; one whose workflow is closed is ended as lost; an
 * open workflow of an ended run is cancelled.
 */
export async function reconcile(
  deps: Deps,
  graceMs: number = GRACE_MS,
): Promise<{ started: string[]; lost: string[]; cancelled: string[] }> {
  const open = new Set<string>();
  for await (const id of deps.workflows.openRuns()) open.add(id);
  const live = await deps.db.query<{ id: string }>(
    `SELECT r.id FROM run r WHERE r.finished_at IS NULL AND r.created_at < now() - $1 * interval '1 ms'
      AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.run_id IN (r.id, r.root_id) AND o.kind = 'start')
      AND (r.parent_id IS NULL OR r.started_at IS NOT NULL)`,
    [graceMs],
  );
  const started: string[] = [];
  const lost: string[] = [];
  for (const { id } of live) {
    if (open.has(id)) continue;
    const state = await deps.workflows.describeRun(id);
    if (state === 'missing' && (await startAgain(deps, id))) started.push(id);
    if (state === 'closed' && (await closeRun(deps.db, id, 'lost: its workflow has ended without it'))) {
      tellEvents(deps, id);
      lost.push(id);
    }
  }
  return { started, lost, cancelled: await cancelEnded(deps, open, graceMs) };
}

async function startAgain(deps: Deps, id: string): Promise<boolean> {
  return deps.db.transaction(async (sql) => {
    // The new workflow counts its turns from 1: the lanes have to accept them.
    const rows = await sql.query(
      `UPDATE lane SET turn = 0, attempt = 0, fence = fence + 1 WHERE run_id = $1
        AND EXISTS (SELECT 1 FROM run WHERE id = $1 AND finished_at IS NULL) RETURNING 1`,
      [id],
    );
    if (rows.length > 0) await post(sql, id, 'start');
    return rows.length > 0;
  });
}

async function cancelEnded(deps: Deps, open: ReadonlySet<string>, graceMs: number): Promise<string[]> {
  const ended = await deps.db.query<{ id: string }>(
    `SELECT id FROM run WHERE id = ANY($1) AND finished_at < now() - $2 * interval '1 ms'`,
    [[...open], graceMs],
  );
  for (const { id } of ended) await deps.workflows.cancelRun(id);
  return ended.map(({ id }) => id);
}
