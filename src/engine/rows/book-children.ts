import type { Sql } from '../../platform/db/contract.js';
import type { LanesOf } from './book-lost.js';
import { CHILDREN_OF } from './children-of.js';

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
 * Books the cost of child runs to their steps and runs where no lane will do it any more: these runs, and those lanes
 * of one more, have ended while they waited for a child. Call it once a run, under the lock of the runs' rows and of
 * those lanes, after all other costs are booked.
 */
export async function bookChildren(sql: Sql, ended: readonly string[], within: LanesOf | null): Promise<void> {
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
  // The run of those lanes continues: the race around them may name them again, and so does the run's end.
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
