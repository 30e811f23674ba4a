import { type Plan, type StepPlan, validate } from '../format/index.js';
import { leavesOf } from '../format/model.js';
import type { Json } from '../shared/json.js';
import { type Fault, refuseFaults } from './faults.js';
import { isValue, type Work } from './step-work.js';

/** New work by step id: a text, or a value for a step that makes one. */
export type Edits = Readonly<Record<string, Json>>;

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
    const messages = gate.edit.includes(id) && step ? faultsOf(step, work, value) : [notNamed(gate.edit)];
    return messages.map((message) => ({ path: `edits.${id}`, message }));
  });
  refuseFaults(faults);
}

function notNamed(edit: readonly string[]): string {
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
