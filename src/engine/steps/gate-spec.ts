import { type GatePlan, leavesOf, type StepPlan } from '../../format/model.js';
import { isRecord, type Json } from '../../shared/json.js';
import type { Lane, StepState } from '../lane/lane.js';
import { scopeOf } from '../lane/scope.js';
import { plainText } from '../text/plain-text.js';

/** What a gate's row stores for its deciders; `mayDecide` reads it for every interface. */
export interface GateSpec {
  readonly n: number;
  readonly title: string;
  /** The question, or the doer's result. */
  readonly ask: string;
  readonly approvers: readonly string[];
  readonly self: boolean;
  /** Ids of the steps whose result a decider may change. */
  readonly edit: readonly string[];
  /** JSON Schema of the decider's form. */
  readonly form: Json;
  /** The form as JSON text, with the order of its fields. Missing in older rows, and without a form. */
  readonly formText?: string;
  readonly escalate: { readonly afterMs: number; readonly to: string } | null;
  /** For a gate about a used-up budget. */
  readonly budget?: BudgetGate;
  /** For a gate about tool calls: the exact calls. */
  readonly calls?: readonly GateCall[];
  /** Missing in rows of builds without reminders. */
  readonly remindMs?: number | null;
}

/** A tool call that needs approval. */
export interface GateCall {
  readonly name: string;
  /** The arguments; of long ones the beginning, as text. */
  readonly args: Json;
  /** SHA-256 of the name and all of the arguments, as canonical JSON. */
  readonly digest: string;
  /** The length of the arguments, when only their beginning is shown. */
  readonly characters?: number;
  /** The question of `ask_human`. */
  readonly question?: string;
}

/** A used-up budget, and what an approval adds to it. */
export interface BudgetGate {
  /** The key of its row in `spent`: gates of the same key are decided together. */
  readonly key: string;
  /** `the run`, `the workspace x for November 2026`. */
  readonly of: string;
  /** The run that owns the budget; null for a month's, which an approval does not raise. */
  readonly runId: string | null;
  readonly budgetUsd: number;
  readonly spentUsd: number;
  readonly raiseUsd: number | null;
  readonly raiseNano: string | null;
}

export function isBudgetGate(value: unknown): value is BudgetGate {
  return isRecord(value) && typeof value.key === 'string' && typeof value.of === 'string';
}

export function gateSpec(lane: Lane, step: StepPlan, state: StepState, gate: GatePlan): GateSpec {
  const made = step.agent ?? step.subflow;
  return {
    n: step.n,
    title: step.title,
    ask: made === undefined ? question(lane, step) : (state.result ?? ''),
    approvers: gate.approvers,
    self: gate.self,
    edit: gate.edit,
    form: gate.form ?? null,
    ...(gate.formText === undefined ? {} : { formText: gate.formText }),
    escalate: gate.escalate ?? null,
    remindMs: gate.remindMs ?? null,
  };
}

/** Number of distinct persons needed; an address that is listed twice is one person. */
export function needOf({ need, approvers }: GatePlan): number {
  return need === 'all' ? new Set(approvers.map((who) => who.toLowerCase())).size : need;
}

/**
 * The question of a gate without a doer is its text; without text it shows the newest result, so that the decider sees
 * what to decide on.
 */
function question(lane: Lane, step: StepPlan): string {
  const instruction = plainText(step.instruction, scopeOf(lane));
  if (instruction !== '') return instruction;
  const before = leavesOf(lane.plan).filter((other) => other.n < step.n);
  return before.map((other) => lane.steps.get(other.id)?.result).findLast((result) => result) ?? step.title;
}
