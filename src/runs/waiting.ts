import type { Gate, Waiting } from '../contract/runs.js';
import type { BudgetGate, GateSpec, HeldUp } from '../engine/index.js';
import type { Plan, StepPlan } from '../format/index.js';
import { leavesOf } from '../format/model.js';
import type { TableRow } from '../platform/db/contract.js';
import { isRecord, type Json } from '../shared/json.js';
import { atLeast, type Caller } from '../shared/roles.js';
import { gateMark } from './gate-mark.js';
import { parkHead } from './gate-rows.js';
import { heldWaiting, type SlotWaitRow, slotWaiting } from './held-steps.js';
import { approvalsIn, decidersAt, mayDecide, readVotes } from './may-decide.js';
import { starterOf } from './run-rows.js';
import type { ShownStep } from './step-views.js';
import type { Work } from './step-work.js';

export interface ShownPark
  extends Pick<TableRow<'Park'>, 'step' | 'item' | 'kind' | 'spec' | 'need' | 'votes' | 'openedAt' | 'dueAt'> {
  readonly park: string;
  readonly gateRound: number;
}

export interface ShownChild {
  readonly id: string;
  readonly step: string;
  readonly since: Date;
}

interface Rows {
  readonly run: { readonly startedBy: Json; readonly fromStep: number };
  readonly steps: readonly ShownStep[];
  readonly parks: readonly ShownPark[];
  readonly children: readonly ShownChild[];
  readonly slotWaits: readonly SlotWaitRow[];
  readonly held: readonly HeldUp[];
}

interface Viewer {
  readonly caller: Caller;
  readonly nowMs: number;
  readonly releaseUrl: (step: string) => string;
}

/** What a run waits for, in the order of the steps. */
export function waitingOf(plan: Plan, rows: Rows, viewer: Viewer): Waiting[] {
  const parks = rows.parks.map((park) => ({
    ...parkHead(park),
    kind: park.kind,
    ...(park.kind === 'approval' ? gateView(plan, rows, park, viewer) : {}),
    ...(park.kind === 'event' ? { releaseUrl: viewer.releaseUrl(park.step) } : {}),
  }));
  const children = rows.children.map((child) => {
    const step = leavesOf(plan).find((one) => one.id === child.step);
    return {
      step: step?.n ?? 0,
      id: child.step,
      title: step?.title ?? child.step,
      kind: 'subflow',
      since: child.since.toISOString(),
      due: null,
      runId: child.id,
    };
  });
  const slots = rows.slotWaits.map((row) => slotWaiting(plan, rows.run.fromStep, row));
  const held = rows.held.map((one) => heldWaiting(plan, one));
  return [...parks, ...children, ...slots, ...held].sort((a, b) => a.step - b.step);
}

type GateRows = Pick<Rows, 'steps'> & { readonly run: Pick<Rows['run'], 'startedBy'> };
type GateViewer = Pick<Viewer, 'caller' | 'nowMs'>;

/** What an open gate asks of the caller; `plan` is that of its run. */
export function gateView(plan: Plan, rows: GateRows, park: ShownPark, { caller, nowMs }: GateViewer): Gate {
  const gate = (isRecord(park.spec) ? park.spec : {}) as unknown as GateSpec;
  const votes = readVotes(park.votes);
  const moment = { gate, openedAtMs: park.openedAt.getTime(), nowMs, starter: starterOf(rows.run) };
  const editable = leavesOf(plan).filter((step) => gate.edit.includes(step.id));
  return {
    gate: gateMark({ ...park, id: park.park }, gate.edit.length === 0 ? new Map() : newestWork(rows.steps)),
    ask: gate.ask,
    need: park.need,
    decided: approvalsIn(votes),
    votes: votes.map(({ who: _id, named: _named, label: by, note = null, ...vote }) => ({ ...vote, by, note })),
    approvers: decidersAt(moment),
    // The route for decisions requires an editor, even if the gate names a viewer.
    mayDecide: atLeast(caller.role, 'editor') && mayDecide(moment, caller),
    ...(gate.form === null ? {} : { form: orderedForm(gate) }),
    ...(gate.budget === undefined ? {} : { budget: budgetView(gate.budget) }),
    ...(gate.calls === undefined ? {} : { calls: gate.calls }),
    ...(editable.length === 0 ? {} : { edit: editable.map((step) => editView(step, rows.steps)) }),
  };
}

/** The form with its fields in the flow's order. Older rows have only jsonb, which loses the order. */
function orderedForm({ form, formText }: Pick<GateSpec, 'form' | 'formText'>): Json {
  return formText === undefined ? form : (JSON.parse(formText) as Json);
}

/** By step id; the rows are in the order of their rounds. */
function newestWork(steps: readonly Pick<ShownStep, 'id' | 'item' | 'result' | 'data'>[]): ReadonlyMap<string, Work> {
  return new Map(steps.filter(({ item }) => item === 0).map((row) => [row.id, row]));
}

function budgetView({ of, budgetUsd, spentUsd, raiseUsd }: BudgetGate): NonNullable<Gate['budget']> {
  return { of, budgetUsd, spentUsd, raiseUsd };
}

function editView(step: StepPlan, rows: readonly ShownStep[]): NonNullable<Gate['edit']>[number] {
  const row = rows.findLast((one) => one.id === step.id && one.item === 0);
  return {
    step: step.n,
    id: step.id,
    title: step.title,
    result: row?.result ?? null,
    ...(row === undefined || row.data === null ? {} : { data: row.data }),
    ...(step.schema === undefined ? {} : { schema: step.schema }),
  };
}
