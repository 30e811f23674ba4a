import { appendEvent } from '../engine/index.js';
import type { Plan, StepPlan } from '../format/index.js';
import { leavesOf } from '../format/model.js';
import type { Sql } from '../platform/db/contract.js';
import { toJson } from '../shared/exact-json.js';
import { canonicalJson, type Json } from '../shared/json.js';
import { isValue, readWork, type Work } from './step-work.js';
import type { Vote } from './votes.js';

/**
 * Writes the edits of the deciding votes into the steps' rows, in the order of the votes, under the run's lock. The row
 * keeps the replaced work. Returns the ids of the steps that changed.
 */
export async function applyEdits(
  sql: Sql,
  run: { readonly id: string; readonly plan: Plan },
  { votes, gate }: { readonly votes: readonly Vote[]; readonly gate: string },
): Promise<readonly string[]> {
  const given = votes.flatMap((vote) => Object.entries(vote.edits ?? {}).map(([id, value]) => ({ id, value, vote })));
  const work = await readWork(
    sql,
    run.id,
    given.map(({ id }) => id),
  );
  const steps = new Map(leavesOf(run.plan).map((step) => [step.id, step]));
  const edited = new Set<string>();
  for (const { id, value, vote } of given) {
    const step = steps.get(id);
    const before = work.get(id);
    if (!step || !before) continue;
    const after = editedWork(step, before, value);
    if (isSame(before, after)) continue;
    work.set(id, after);
    edited.add(id);
    const round = await replaceWork(sql, { runId: run.id, id, after, vote });
    await appendEvent(sql, run.id, {
      type: 'step.edited',
      data: { step: id, item: 0, round, by: vote.label, gate },
    });
  }
  return [...edited];
}

function isSame(a: Work, b: Work): boolean {
  return a.data === null && b.data === null ? a.result === b.result : canonicalJson(a.data) === canonicalJson(b.data);
}

async function replaceWork(
  sql: Sql,
  {
    runId,
    id,
    after,
    vote,
  }: { readonly runId: string; readonly id: string; readonly after: Work; readonly vote: Vote },
): Promise<number> {
  const [row] = await sql.query<{ round: number }>(
    `UPDATE step SET result = $3, data = $4, edits = coalesce(edits, '[]') || jsonb_build_array(
        jsonb_build_object('at', $5::text, 'by', $6::text, 'result', result, 'data', data))
      WHERE run_id = $1 AND id = $2 AND item = 0
        AND round = (SELECT max(round) FROM step WHERE run_id = $1 AND id = $2 AND item = 0)
      RETURNING round`,
    [runId, id, after.result, after.data === null ? null : toJson(after.data), vote.at, vote.label],
  );
  return row?.round ?? 1;
}

/** The step's work after the edit. */
function editedWork(step: StepPlan, before: Work, value: Json): Work {
  if (step.each && Array.isArray(value)) return { result: value.map(textOf).join('\n\n'), data: value };
  return isValue(step, before) ? { result: toJson(value), data: value } : { result: String(value), data: null };
}

function textOf(value: Json): string {
  if (value === null) return '';
  return typeof value === 'string' ? value : toJson(value);
}
