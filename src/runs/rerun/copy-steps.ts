import type { Sql } from '../../platform/db/contract.js';
import { toJson } from '../../shared/exact-json.js';
import { failpoint } from '../../shared/failpoint.js';
import type { ChosenSteps } from './choose-steps.js';

interface Copy {
  readonly from: string;
  readonly to: string;
  readonly chosen: ChosenSteps;
}

/**
 * Copies into a new run the ended rounds and items of the chosen steps, with the index of their archived files. They
 * add no cost to the new run.
 */
export async function copySteps(sql: Sql, { from, to, chosen }: Copy): Promise<void> {
  const { rows, copied, skipped } = chosen;
  const ids = copied.map(({ id }) => id);
  const copiedIds = new Set(ids);
  const oldIds = new Map(rows.flatMap(({ oldId, id }) => (copiedIds.has(id) ? [[oldId, id] as const] : [])));
  if (rows.length > 0) {
    await sql.query({
      name: 'copy-steps',
      text: `INSERT INTO step (run_id, id, item, round, lane, status, attempts, result, data, event_payload, decision, items, edits,
            feedback, error, started_at, finished_at, copied)
        SELECT $2, k.id, s.item, s.round, k.lane, s.status, s.attempts, s.result, s.data, s.event_payload, s.decision, s.items, s.edits,
            s.feedback, s.error, s.started_at, s.finished_at, true
          FROM step s JOIN unnest($3::text[], $4::int[], $5::int[], $6::text[], $7::text[]) k (old_id, item, round, id, lane)
            ON s.id = k.old_id AND s.item = k.item AND s.round = k.round
          WHERE s.run_id = $1`,
      values: [
        from,
        to,
        rows.map(({ oldId }) => oldId),
        rows.map(({ item }) => item),
        rows.map(({ round }) => round),
        rows.map(({ id }) => id),
        rows.map(({ lane }) => lane),
      ],
    });
    failpoint('steps-copying');
    await sql.query({
      name: 'copy-run-files',
      text: `INSERT INTO run_file (run_id, agent, path, step, sha, size)
        SELECT $2, f.agent, f.path, k.id, f.sha, f.size
          FROM run_file f JOIN unnest($3::text[], $4::text[]) k (old_id, id) ON f.step = k.old_id
          WHERE f.run_id = $1 FOR SHARE OF f`,
      values: [from, to, [...oldIds.keys()], [...oldIds.values()]],
    });
  }
  await sql.query({
    name: 'skip-steps',
    text: `INSERT INTO step (run_id, id, lane, status, finished_at) SELECT $1, id, 'main', 'skipped', now() FROM unnest($2::text[]) id`,
    values: [to, skipped],
  });
  await appendEvents(sql, to, [
    ...ids.map((step) => ({ type: 'step.copied', data: { step, of: from } })),
    ...skipped.map((step) => ({ type: 'step.skipped', data: { step, why: 'from' } })),
  ]);
}

async function appendEvents(sql: Sql, runId: string, events: readonly { type: string; data: object }[]): Promise<void> {
  await sql.query({
    name: 'append-copied-events',
    text: `WITH r AS (UPDATE run SET last_seq = last_seq + jsonb_array_length($2::jsonb) WHERE id = $1 RETURNING last_seq)
      INSERT INTO run_event (run_id, seq, type, data)
      SELECT $1, r.last_seq - jsonb_array_length($2::jsonb) + x.n, x.v->>'type', x.v->'data'
        FROM r, jsonb_array_elements($2::jsonb) WITH ORDINALITY x(v, n)`,
    values: [runId, toJson(events)],
  });
}
