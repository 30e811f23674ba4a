import type { Deps } from '../../deps.js';
import type { Sql } from '../../platform/db/contract.js';
import type { Queue } from '../../platform/db/index.js';
import type { Workflows } from '../../platform/temporal/contract.js';
import { failpoint } from '../../shared/failpoint.js';
import { errorMessage } from '../../shared/refusal.js';

export type OutboxKind = 'start' | 'start-eval' | 'approval' | 'event' | 'cancel' | 'apply-push';

interface OutboxRow {
  readonly id: bigint;
  readonly runId: string;
  readonly kind: OutboxKind;
  readonly arg: string | null;
}

/** How each kind of row is sent to Temporal. All of them are idempotent. */
const SEND = {
  start: (workflows, row) => workflows.startRun(row.runId),
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
 * Sends a run's rows now, in order. Failures are left to the sweep, since the caller's request has already succeeded.
 */
export async function dispatchOutbox(deps: Deps, runId: string): Promise<void> {
  try {
    await dispatch(deps, { runId, ageMs: 0, limit: 20 });
  } catch (error) {
    deps.log.warn({ err: error, run: runId }, 'outbox dispatch failed, will retry');
  }
}

/** Sends the rows that no caller has sent: its process died, or Temporal did not answer. */
export function outboxQueue(deps: Deps): Queue {
  return {
    nextDue: `SELECT min(created_at) + interval '1 s' FROM outbox`,
    work: () => sweepOutbox(deps),
    // A Temporal that is slow must not get each row again at once.
    gatherMs: 500,
  };
}

/** Sends all rows older than a second; returns how many were sent. */
export async function sweepOutbox(deps: Deps): Promise<number> {
  return dispatch(deps, { runId: null, ageMs: 1_000, limit: 200 });
}

interface Batch {
  readonly runId: string | null;
  readonly ageMs: number;
  readonly limit: number;
}

async function dispatch(deps: Deps, batch: Batch): Promise<number> {
  const rows = await deps.db.query<OutboxRow>({
    name: batch.runId === null ? 'outbox-due' : 'outbox-run',
    text: `SELECT id, run_id AS "runId", kind, arg FROM outbox
      WHERE created_at <= now() - $1 * interval '1 ms' ${batch.runId === null ? 'AND $2::text IS NULL' : 'AND run_id = $2'}
      ORDER BY id LIMIT $3`,
    values: [batch.ageMs, batch.runId, batch.limit],
  });
  const byRun = new Map<string, OutboxRow[]>();
  for (const row of rows) byRun.set(row.runId, [...(byRun.get(row.runId) ?? []), row]);
  // Rows of one run go in order, so that no signal overtakes its start.
  const sent = await Promise.all([...byRun.values()].map((list) => dispatchRun(deps, list)));
  return sent.reduce((sum, count) => sum + count, 0);
}

async function dispatchRun(deps: Deps, rows: readonly OutboxRow[]): Promise<number> {
  let sent = 0;
  for (const row of rows) {
    try {
      await SEND[row.kind](deps.workflows, row);
      failpoint(row.kind === 'start' ? 'outbox-sent' : 'signal-sent');
      // A repeated row does no harm, so this need not wait for the disk.
      await deps.db.query({
        name: 'outbox-sent',
        text: `WITH soft AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)) DELETE FROM outbox USING soft WHERE id = $1`,
        values: [row.id],
      });
      sent += 1;
    } catch (error) {
      await deps.db.query('UPDATE outbox SET tries = tries + 1, last_error = $2 WHERE id = $1', [
        row.id,
        errorMessage(error),
      ]);
      break;
    }
  }
  return sent;
}
