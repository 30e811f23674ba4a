import type { Sql } from '../../platform/db/contract.js';
import { STOP_CHANNEL } from '../live.js';
import { enqueueOutbox } from '../outbox/outbox.js';
import { bookLost, type LanesOf } from './book-lost.js';
import { CHILDREN_OF } from './children-of.js';
import { closeRows } from './close-rows.js';
import { raiseEndEvents } from './raise-ends.js';

/**
 * Ends these runs and all runs under them, by compare-and-set: closes their rows, notifies their workers at the commit,
 * and cancels their workflows through the outbox. Runs that have ended are left unchanged, but not active runs under
 * them. `within` are lanes that end with them, locked by the caller: their cost is booked in the same pass. Call it
 * once a transaction, under the lock of the topmost run. Returns the runs that this call ended.
 */
export async function endRuns(
  sql: Sql,
  runIds: readonly string[],
  end: { readonly error: string; readonly stopped: boolean },
  within: LanesOf | null = null,
): Promise<string[]> {
  const ended: string[] = [];
  for (;;) {
    const rows = await sql.query<{ id: string }>(
      `WITH RECURSIVE tree AS (
        SELECT id FROM run WHERE id = ANY($1) UNION SELECT c.id FROM run c JOIN tree t ON c.parent_id = t.id),
      r AS (UPDATE run SET status = 'failed', stopped = $3, error = $2, gates_open = 0, reserved_nano = 0,
          finished_at = now(), last_seq = last_seq + 1,
          summary = (SELECT left(split_part(ltrim(s.result, E' \\t\\r\\n'), E'\\n', 1), 300) FROM step s
            WHERE s.run_id = run.id AND s.result ~ '\\S' ORDER BY s.finished_at DESC NULLS LAST LIMIT 1)
          WHERE id IN (SELECT id FROM tree) AND finished_at IS NULL RETURNING id, last_seq)
      INSERT INTO run_event (run_id, seq, type, data)
      SELECT id, last_seq, $4, jsonb_build_object('error', $2::text) FROM r RETURNING run_id AS id`,
      [runIds, end.error, end.stopped, end.stopped ? 'run.stopped' : 'run.failed'],
    );
    // A live run may have started a child after this statement read the rows: read again.
    if (rows.length === 0) break;
    ended.push(...rows.map(({ id }) => id));
  }
  if (!end.stopped) await raiseEndEvents(sql, ended);
  await bookLost(sql, ended, within);
  await bookChildren(sql, ended, within);
  await closeRows(sql, ended, end.error);
  for (const id of ended) {
    await sql.query('SELECT pg_notify($1, $2)', [STOP_CHANNEL, id]);
    await enqueueOutbox(sql, id, 'cancel');
  }
  return ended;
}

/** A lane that waits for a child run, and that child's own cost. */
interface Waiting {
  readonly run: string;
  readonly lane: string;
  readonly round: number;
  readonly step: string;
  readonly child: string;
  readonly spent: bigint;
}

/**
 * Books the cost of child runs to their steps and runs where no lane will do so: these runs, and those lanes of one
 * more run, ended while they waited for a child. Call it once a run, under the lock of the runs' rows and of those
 * lanes, after all other costs are booked.
 */
async function bookChildren(sql: Sql, ended: readonly string[], within: LanesOf | null): Promise<void> {
  const lanes = await sql.query<Waiting>(
    `SELECT l.run_id AS run, l.lane, l.round, c.trigger->>'step' AS step, c.id AS child, c.spent_nano AS spent
      FROM lane l ${CHILDREN_OF} JOIN run c ON c.id = h.id
      WHERE l.run_id = ANY($1) OR (l.run_id = $2 AND is_within(l.lane, $3))`,
    [ended, within?.runId ?? null, within?.lanes ?? null],
  );
  if (lanes.length === 0) return;
  const costs = costsOf(lanes);
  await sql.query(
    `UPDATE step SET cost_nano = cost_nano + x.nano
      FROM (SELECT run, lane, step, round, sum(nano)::bigint AS nano
        FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::bigint[]) u (run, lane, step, round, nano)
        GROUP BY run, lane, step, round) x
      WHERE run_id = x.run AND step.lane = x.lane AND id = x.step AND step.round = x.round`,
    [
      lanes.map(({ run }) => run),
      lanes.map(({ lane }) => lane),
      lanes.map(({ step }) => step),
      lanes.map(({ round }) => round),
      costs.map(String),
    ],
  );
  await sql.query(
    `UPDATE run SET spent_nano = spent_nano + x.nano
      FROM (SELECT run, sum(nano)::bigint AS nano FROM unnest($1::text[], $2::bigint[]) u (run, nano) GROUP BY run) x
      WHERE id = x.run`,
    [lanes.map(({ run }) => run), costs.map(String)],
  );
  // The run of those lanes continues. Its race or its end may pass the same lanes again: forget their children, so that
  // their cost is not booked twice.
  await sql.query(
    `UPDATE lane SET loops = loops - '{child,handed}'::text[] WHERE run_id = $1 AND is_within(lane, $2)`,
    [within?.runId ?? null, within?.lanes ?? null],
  );
}

/** The cost of each lane's subflow, with the runs under it. */
function costsOf(lanes: readonly Waiting[]): bigint[] {
  const byRun = new Map<string, Waiting[]>();
  for (const lane of lanes) {
    const others = byRun.get(lane.run);
    if (others) others.push(lane);
    else byRun.set(lane.run, [lane]);
  }
  const costOf = ({ child, spent }: Waiting): bigint =>
    (byRun.get(child) ?? []).reduce((sum, lane) => sum + costOf(lane), spent);
  return lanes.map(costOf);
}
