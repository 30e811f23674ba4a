import { appendEvent } from '../engine/index.js';
import { type Plan, type StepPlan, validate } from '../format/index.js';
import { leavesOf } from '../format/model.js';
import type { Sql } from '../platform/db/contract.js';
import { toJson } from '../shared/exact-json.js';
import { canonicalJson, type Json } from '../shared/json.js';
import { type Fault, refuseFaults } from './faults.js';
import type { Vote } from './may-decide.js';
import { isValue, readWork, type Work } from './step-work.js';

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

/** New work by step id: a text, or a value for a step that makes one. */
type Edits = Readonly<Record<string, Json>>;

/**
 * Refuses edits of steps that the gate does not name, and edits that do not fit their step, before anything is written.
 */
export function assertEdits(
  edits: Edits,
  gate: { readonly edit: readonly string[]; readonly plan: Plan; readonly work: ReadonlyMap<string, Work> },
): void {
  const steps = new Map(leavesOf(gate.plan).map((step) => [step.id, step]));
  const faults = Object.entries(edits).flatMap(([id, value]): Fault[] => {
    const step = steps.get(id);
    const work = gate.work.get(id);
    const messages = gate.edit.includes(id) && step ? faultsOf(step, work, value) : [notEditable(gate.edit)];
    return messages.map((message) => ({ path: `edits.${id}`, message }));
  });
  refuseFaults(faults);
}

function notEditable(edit: readonly string[]): string {
  if (edit.length === 0) return 'no step may be changed at this gate; leave `edits` out';
  return `this gate lets you change ${edit.join(', ')} and no other step`;
}

function faultsOf(step: StepPlan, work: Work | undefined, value: Json): readonly string[] {
  if (!work || work.result === null) return ['the step has made nothing that could be changed'];
  if (step.each) return faultsOfItems(step, work, value);
  return faultsOfValue(step, work, value);
}

function faultsOfValue(step: StepPlan, work: Work, value: Json): readonly string[] {
  if (isValue(step, work)) return step.schema ? validate(step.schema, value) : [];
  return typeof value === 'string' && value.trim() !== '' ? [] : ['the step makes text; give a text that is not empty'];
}

/** The work of an `each` is the list of its items. A failed item stays empty; a completed one may change. */
function faultsOfItems(step: StepPlan, { data }: Work, value: Json): readonly string[] {
  const before = Array.isArray(data) ? (data as readonly Json[]) : [];
  if (!Array.isArray(value) || value.length !== before.length)
    return [`give a list of the step's ${before.length} items`];
  return value.flatMap((entry: Json, index) => {
    if (before[index] === null && entry === null) return [];
    const work = { result: '', data: typeof before[index] === 'string' ? null : (before[index] ?? null) };
    return faultsOfValue(step, work, entry).map((fault) => `[${index}]: ${fault}`);
  });
}
