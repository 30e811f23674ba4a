import type { Deps } from '../../deps.js';
import { closeRun } from '../rows/close-run.js';
import { notifyStreams } from '../rows/notify-streams.js';
import { enqueueOutbox, START_AGAIN } from './outbox.js';

const GRACE_MS = 60_000;

export interface Reconciled {
  readonly started: readonly string[];
  readonly lost: readonly string[];
  readonly cancelled: readonly string[];
  /** Open workflows without a row: the next look terminates them if they still have none. */
  readonly rowless: readonly string[];
  readonly terminated: readonly string[];
}

const NOTHING: Reconciled = { started: [], lost: [], cancelled: [], rowless: [], terminated: [] };

interface Options {
  readonly graceMs?: number;
  /** The workflows without a row at the previous look. */
  readonly rowless?: readonly string[];
  /** Stops between two runs once it is aborted. */
  readonly signal?: AbortSignal;
}

interface LiveRun {
  readonly id: string;
  readonly parentId: string | null;
  readonly parentEnded: boolean;
}

/**
 * Brings rows and workflows in line, in both directions, from one list of open workflows. A live run whose workflow
 * Temporal does not know is started again from its rows. A run whose workflow has closed, or whose parent ended without
 * it, is ended as lost. An open workflow of an ended run is cancelled, and one without a row at two looks is
 * terminated. When it is stopped early, it knows no workflow as rowless.
 */
export async function reconcile(
  deps: Deps,
  { graceMs = GRACE_MS, rowless: before = [], signal }: Options = {},
): Promise<Reconciled> {
  const open = new Map<string, number>();
  for await (const { id, startedAt } of deps.workflows.openRuns()) {
    open.set(id, startedAt);
    if (signal?.aborted) return NOTHING;
  }
  const missing = new Map<string, LiveRun>();
  const lost: string[] = [];
  for (const run of await liveRuns(deps, graceMs)) {
    // A part of the missing runs would not show which child's parent is missing too.
    if (signal?.aborted) return { ...NOTHING, lost };
    if (open.has(run.id)) continue;
    const state = await deps.workflows.describeRun(run.id);
    if (state === 'missing' && !run.parentEnded) missing.set(run.id, run);
    else if (state !== 'running' && (await closeRun(deps.db, run.id, 'lost: its workflow has ended without it'))) {
      notifyStreams(deps, run.id);
      lost.push(run.id);
    }
  }
  const started = await startAgain(deps, missing);
  const cancelled = await cancelEnded(deps, [...open.keys()], { graceMs, signal });
  const rowless = await withoutRow(deps, open, graceMs);
  const terminated = await terminate(
    deps,
    rowless.filter((id) => before.includes(id)),
    signal,
  );
  return { started, lost, cancelled, rowless, terminated };
}

/** Runs that should have a workflow. A child that has not started is left to its parent while the parent is live. */
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

/**
 * Restarts runs whose workflow is missing. If the parent's is missing too, the child is only prepared: the parent
 * starts it.
 */
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
      await enqueueOutbox(sql, id, 'start', START_AGAIN);
      started.push(id);
    }
  });
  return started;
}

async function cancelEnded(
  deps: Deps,
  open: readonly string[],
  { graceMs, signal }: { readonly graceMs: number; readonly signal: AbortSignal | undefined },
): Promise<string[]> {
  const ended = await deps.db.query<{ id: string }>(
    `SELECT id FROM run WHERE id = ANY($1) AND finished_at < now() - $2 * interval '1 ms'`,
    [open, graceMs],
  );
  const cancelled: string[] = [];
  for (const { id } of ended) {
    if (signal?.aborted) break;
    await deps.workflows.cancelRun(id);
    cancelled.push(id);
  }
  return cancelled;
}

/**
 * Open workflows of this installation whose run has no row. Rows are written before their workflow starts, so the row
 * was deleted, or the database was restored from an older backup. Workflows older than the database are ignored: then
 * this may be the wrong database.
 */
async function withoutRow(deps: Deps, open: ReadonlyMap<string, number>, graceMs: number): Promise<string[]> {
  const found = await deps.db.query<{ id: string }>(
    `SELECT o.id FROM unnest($1::text[], $2::float8[]) o(id, ms)
      WHERE NOT EXISTS (SELECT 1 FROM run r WHERE r.id = o.id)
        AND o.ms > (SELECT extract(epoch FROM min(applied_at)) * 1000 FROM schema_version)
        AND o.ms < extract(epoch FROM now()) * 1000 - $3`,
    [[...open.keys()], [...open.values()], graceMs],
  );
  return found.map(({ id }) => id);
}

async function terminate(
  deps: Deps,
  ids: readonly string[],
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  const terminated: string[] = [];
  for (const id of ids) {
    if (signal?.aborted) break;
    deps.log.warn({ run: id }, 'terminating a workflow whose run is not in the database');
    await deps.workflows.terminateRun(id, 'its run is not in the database');
    terminated.push(id);
  }
  return terminated;
}
