import type { Deps } from '../../deps.js';
import type { Sql, TableRow } from '../../platform/db/contract.js';
import { DatabaseUnavailable, type Queue } from '../../platform/db/index.js';
import type { Workflows } from '../../platform/temporal/contract.js';
import { backoffMs } from '../../shared/backoff.js';
import { failpoint } from '../../shared/failpoint.js';
import { errorMessage, Refusal } from '../../shared/refusal.js';

export type OutboxKind = 'start' | 'start-eval' | 'approval' | 'event' | 'cancel' | 'apply-push';

interface OutboxRow extends Pick<TableRow<'Outbox'>, 'id' | 'runId' | 'arg' | 'tries'> {
  readonly kind: OutboxKind;
}

/** How long the caller that wrote a row has to send it, before a sweep does. */
const GRACE_MS = 1_000;
/** How long a sweep keeps the rows of a run to itself: longer than the slowest call, so that two rarely send one row. */
const LEASE_MS = 15_000;
/** A row is not begun later than this after its claim: its call (10 s at most) would outlive the lease. */
const BEGIN_WITHIN_MS = 5_000;
/** A Temporal that is slow answers none of too many calls in time. */
const RUNS_AT_ONCE = 16;
const RUNS_A_ROUND = 200;

/** The argument of a start whose run Temporal had before. */
export const START_AGAIN = 'again';

/** How each kind of row is sent to Temporal. All of them are idempotent. */
const SEND = {
  start: (workflows, row) => workflows.startRun(row.runId, { isAgain: row.arg === START_AGAIN }),
  'start-eval': (workflows, row) => workflows.startEval(row.runId),
  approval: (workflows, row) => workflows.signalRun(row.runId, 'approval', row.arg ?? ''),
  event: (workflows, row) => workflows.signalRun(row.runId, 'event', row.arg ?? ''),
  'apply-push': (workflows, row) => workflows.applyPush(row.runId),
  cancel: (workflows, row) => workflows.cancelRun(row.runId),
} as const satisfies Record<OutboxKind, (workflows: Workflows, row: OutboxRow) => Promise<void>>;

/** Writes an outbox row in the transaction of the change itself. */
export async function enqueueOutbox(
  sql: Sql,
  runId: string,
  kind: OutboxKind,
  arg: string | null = null,
): Promise<void> {
  await sql.query({
    name: 'outbox-post',
    text: 'INSERT INTO outbox (run_id, kind, arg) VALUES ($1, $2, $3)',
    values: [runId, kind, arg],
  });
}

/**
 * Sends a run's rows now, in order, without a claim: a row that a sweep sends too does no harm. Failures are left to the
 * sweep, since the caller's request has already succeeded.
 */
export async function dispatchOutbox(deps: Deps, runId: string): Promise<void> {
  try {
    const rows = await deps.db.query<OutboxRow>({
      name: 'outbox-run',
      text: `SELECT id, run_id AS "runId", kind, arg, tries FROM outbox WHERE run_id = $1 ORDER BY id LIMIT 20`,
      values: [runId],
    });
    await sendRun(deps, rows);
  } catch (error) {
    deps.log.warn({ err: error, run: runId }, 'outbox dispatch failed, will retry');
  }
}

/**
 * Sends the rows that no caller has sent: its process died, or Temporal did not answer. While Temporal does not answer,
 * each round tries one run only, and the pauses grow.
 */
export function outboxQueue(deps: Deps): Queue {
  let failures = 0;
  return {
    nextDue: `SELECT min(due_at) + ${GRACE_MS} * interval '1 ms' FROM outbox`,
    async work(signal) {
      try {
        const count = await sweepOutbox(deps, { atFirst: failures === 0 ? RUNS_AT_ONCE : 1, signal });
        failures = 0;
        return count;
      } catch (error) {
        if (isTemporalAway(error)) failures += 1;
        throw error;
      }
    },
    pauseMs: () => (failures === 0 ? 0 : (backoffMs('outbox', failures) ?? 0)),
    gatherMs: 500,
  };
}

interface SweepOptions {
  /** How many runs the first batch takes. */
  readonly atFirst?: number;
  /** Ends the sweep between two batches. */
  readonly signal?: AbortSignal;
}

/**
 * Sends due rows, of a batch of runs at once. Returns how many runs it claimed. Throws as soon as Temporal does not
 * answer, once no call is pending.
 */
export async function sweepOutbox(deps: Deps, { atFirst = RUNS_AT_ONCE, signal }: SweepOptions = {}): Promise<number> {
  let count = 0;
  for (let limit = atFirst; count < RUNS_A_ROUND && !signal?.aborted; limit = RUNS_AT_ONCE) {
    const runs = await claim(deps, limit);
    const ends = await Promise.allSettled(runs.map((rows) => sendRun(deps, rows)));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
    const away = ends.find((end) => end.status === 'fulfilled' && isTemporalAway(end.value));
    if (away?.status === 'fulfilled') throw away.value;
    count += runs.length;
    if (runs.length < limit) break;
  }
  return count;
}

/**
 * The rows of runs whose first row is due, in order. No other sweep gets them during the lease. The statement has no name,
 * so that each plan is made for the rows that there are: the table is empty most of the time.
 */
async function claim(deps: Deps, limit: number): Promise<OutboxRow[][]> {
  const rows = await deps.db.query<OutboxRow>(
    `WITH due AS MATERIALIZED (
        SELECT o.run_id FROM outbox o WHERE o.due_at <= now() - $1 * interval '1 ms'
          AND NOT EXISTS (SELECT 1 FROM outbox earlier WHERE earlier.run_id = o.run_id AND earlier.id < o.id)
          ORDER BY o.due_at, o.id LIMIT $2 FOR UPDATE OF o SKIP LOCKED),
      claimed AS (UPDATE outbox SET due_at = now() + $3 * interval '1 ms' FROM due WHERE outbox.run_id = due.run_id
        RETURNING id, outbox.run_id, kind, arg, tries)
      SELECT id, run_id AS "runId", kind, arg, tries FROM claimed ORDER BY id`,
    [GRACE_MS, limit, LEASE_MS],
  );
  const byRun = new Map<string, OutboxRow[]>();
  for (const row of rows) {
    const ofRun = byRun.get(row.runId);
    if (ofRun) ofRun.push(row);
    else byRun.set(row.runId, [row]);
  }
  return [...byRun.values()];
}

/**
 * Sends the rows of one run in order, so that no signal overtakes its start. Returns the error of the row that could not
 * be sent, whose run it has postponed.
 */
async function sendRun(deps: Deps, rows: readonly OutboxRow[]): Promise<unknown> {
  const began = performance.now();
  for (const row of rows) {
    if (performance.now() - began > BEGIN_WITHIN_MS) return;
    try {
      await SEND[row.kind](deps.workflows, row);
    } catch (error) {
      await postpone(deps, row, error);
      return error;
    }
    failpoint(row.kind === 'start' ? 'outbox-sent' : 'signal-sent');
    // A repeated row does no harm, so this need not wait for the disk.
    await deps.db.query({
      name: 'outbox-sent',
      text: `WITH soft AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)) DELETE FROM outbox USING soft WHERE id = $1`,
      values: [row.id],
    });
  }
  return;
}

/** All rows of the run wait for the one that failed. */
async function postpone(deps: Deps, row: OutboxRow, error: unknown): Promise<void> {
  await deps.db.query(
    `UPDATE outbox SET due_at = now() + $2 * interval '1 ms', tries = tries + (id = $3)::int,
      last_error = CASE WHEN id = $3 THEN $4 ELSE last_error END WHERE run_id = $1`,
    [row.runId, backoffMs('row', row.tries + 1), row.id, errorMessage(error)],
  );
}

function isTemporalAway(error: unknown): boolean {
  return error instanceof Refusal && error.kind === 'unavailable' && !(error instanceof DatabaseUnavailable);
}
