import type { Db } from '../../src/platform/db/index.js';
import type { Answer, Sender } from './sender.js';

interface RunRow {
  readonly id: string;
  readonly flow: string;
  readonly status: string;
  readonly error: string | null;
  readonly delivery: string | null;
  /** Of a burst: how many deliveries it is of. */
  readonly deliveries: number | null;
}

export interface World {
  readonly db: Db;
  readonly hooks: Sender;
  readonly bursts: Sender;
  /** Epoch ms: the schedule of every minute is there from the first to the last of them. */
  readonly from: number;
  readonly to: number;
}

/** Compares the rows with the answers that senders got. Returns a sentence for each fault. */
export async function judge({ db, hooks, bursts, from, to }: World): Promise<readonly string[]> {
  const runs = await db.query<RunRow>(
    `SELECT id, flow, status, error, trigger->>'deliveryId' AS delivery, (trigger->>'deliveries')::int AS deliveries
      FROM run WHERE parent_id IS NULL`,
  );
  const of = (flow: string) => runs.filter((run) => run.flow === flow);
  return [
    ...runs
      .filter(({ status }) => status !== 'completed')
      .map(({ id, status, error }) => `run ${id} is ${status}: ${error}`),
    ...eachOnce(of('hook'), hooks.answers),
    ...burstsWhole(of('burst'), bursts.answers),
    ...(await minutesOnce(db, from, to)),
  ];
}

/** Every id that was sent has one run, and its sender got the id of that run. */
function eachOnce(runs: readonly RunRow[], answers: readonly Answer[]): string[] {
  const byId = new Map<string, string[]>();
  for (const { id, delivery } of runs) byId.set(delivery ?? '', [...(byId.get(delivery ?? '') ?? []), id]);
  const sent = new Set(answers.map(({ id }) => id));
  const first = new Map<string, number>();
  for (const { id, body } of answers) if (body.duplicate !== true) first.set(id, (first.get(id) ?? 0) + 1);
  return [
    ...[...sent].flatMap((id) => {
      const found = byId.get(id) ?? [];
      return found.length === 1 ? [] : [`delivery ${id} has ${found.length} runs`];
    }),
    ...answers.flatMap(({ id, status, body }) =>
      status === 202 && body.runId === byId.get(id)?.[0]
        ? []
        : [`delivery ${id} was answered ${status} ${JSON.stringify(body)}, and its run is ${byId.get(id)}`],
    ),
    ...[...first]
      .filter(([, times]) => times > 1)
      .map(([id, times]) => `delivery ${id} was the first one ${times} times`),
    ...[...byId.keys()].filter((id) => !sent.has(id)).map((id) => `a run is of delivery "${id}", which was never sent`),
  ];
}

/** Every delivery of a burst is in one run. */
function burstsWhole(runs: readonly RunRow[], answers: readonly Answer[]): string[] {
  const sent = new Set(answers.map(({ id }) => id)).size;
  const taken = runs.reduce((sum, { deliveries }) => sum + (deliveries ?? 0), 0);
  const refused = answers.filter(({ status }) => status !== 202).length;
  return [
    ...(sent === taken ? [] : [`${sent} deliveries came to bursts, and their runs are of ${taken}`]),
    ...(refused === 0 ? [] : [`${refused} deliveries of bursts were refused`]),
  ];
}

/** Each whole minute fired once, as its schedule asks. */
async function minutesOnce(db: Db, from: number, to: number): Promise<string[]> {
  const rows = await db.query<{ at: Date; outcome: string; runs: number }>(
    `SELECT f.scheduled_for AS at, f.outcome, (SELECT count(*)::int FROM run r WHERE r.flow = 'tick'
        AND (r.trigger->>'scheduled_for')::timestamptz = f.scheduled_for) AS runs FROM firing f WHERE f.flow = 'tick'`,
  );
  const faults: string[] = [];
  for (let at = Math.ceil(from / 60_000) * 60_000; at < to; at += 60_000) {
    const found = rows.filter((row) => row.at.getTime() === at);
    if (found.length !== 1 || found[0]?.outcome !== 'started' || found[0].runs !== 1)
      faults.push(`the schedule’s minute ${new Date(at).toISOString()} has ${JSON.stringify(found)}`);
  }
  return faults;
}
