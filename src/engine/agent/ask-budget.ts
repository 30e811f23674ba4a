import { loadPlan } from '../../content/index.js';
import type { Plan } from '../../format/model.js';
import type { Json } from '../../shared/json.js';
import { toNano, toUsd } from '../../shared/money.js';
import type { Stop } from '../../workflows/contract.js';
import { BudgetRefused } from '../errors.js';
import type { LanePark } from '../journal/claim.js';
import { type BudgetGate, isBudgetGate } from '../steps/gate-spec.js';
import { parkOn } from '../steps/park-on.js';
import { placeOf } from './book-call.js';
import { budgetGates } from './budget-gates.js';
import { type Cap, isMonthCap, runOfCap, spentOf } from './caps.js';
import type { Session } from './session.js';

/**
 * The state of a step that asked for more money: a stop while it is undecided, null when it may retry. Throws
 * BudgetRefused after a rejection.
 */
export async function resumeBudgetGate(session: Session): Promise<Stop | null> {
  const gates = budgetGates(session);
  const last = gates.at(-1);
  if (!last) return null;
  if (!last.decided) return stopOn(session, gates.length - 1, {});
  if (last.decision === 'reject' && isBudgetGate(last.budget)) throw refusedBy(session, last, last.budget);
  return null;
}

function refusedBy({ lane }: Session, { decidedBy, note }: LanePark, gate: BudgetGate): BudgetRefused {
  const who = (decidedBy as { label?: string } | null)?.label ?? 'a person';
  const tail = note ? `: ${note}` : '';
  return new BudgetRefused(
    gate.runId ?? lane.run.rootId,
    `the budget of ${gate.of}, $${gate.budgetUsd}, is used up, and ${who} granted no more${tail}`,
  );
}

/**
 * Reports a used-up budget. If the flow that owns it has `on_budget: ask`, parks the step on a gate; otherwise returns
 * null, and the step fails.
 */
export async function askForBudget(session: Session, turn: number, cap: Cap): Promise<Stop | null> {
  const { lane } = session;
  const owner = runOfCap(cap);
  const asks = owner !== null ? await planOf(session, owner) : await monthAsks(session, cap);
  const raiseUsd = owner === null ? null : (asks?.budgetUsd ?? null);
  const will = asks?.onBudget === 'ask' && (owner === null || raiseUsd !== null);
  lane.writer.event('budget.reached', {
    ...placeOf(session, turn),
    of: cap.of,
    budgetUsd: toUsd(cap.budget),
    spentUsd: toUsd(spentOf(cap)),
    asks: will,
  });
  if (!will) return null;
  const gate: BudgetGate = {
    key: cap.key,
    of: cap.of,
    runId: owner,
    budgetUsd: toUsd(cap.budget),
    spentUsd: toUsd(spentOf(cap)),
    raiseUsd,
    raiseNano: raiseUsd === null ? null : String(toNano(raiseUsd)),
  };
  return stopOn(session, budgetGates(session).length, specOf(session, gate));
}

/** A month's budget belongs to no run, so the lane's plan, or else that of the root run, decides whether to ask. */
async function monthAsks(session: Session, cap: Cap): Promise<Plan | null> {
  const { plan, run } = session.lane;
  if (!isMonthCap(cap)) return null;
  return plan.onBudget === 'ask' ? plan : planOf(session, run.rootId);
}

async function planOf({ lane }: Session, runId: string): Promise<Plan | null> {
  if (runId === lane.run.id) return lane.plan;
  const { db } = lane.deps;
  const [row] = await db.query<{ planId: string }>('SELECT plan_id AS "planId" FROM run WHERE id = $1', [runId]);
  return row ? loadPlan(lane.deps, lane.run.workspaceId, row.planId) : null;
}

async function stopOn({ lane, state }: Session, number: number, spec: Json): Promise<Stop | null> {
  const mark = `budget.${number}`;
  const parked = await parkOn(lane, state, { kind: 'approval', mark, spec, need: 1, timeoutMs: null });
  return 'stop' in parked ? parked.stop : null;
}

function specOf({ step }: Session, budget: BudgetGate): Json {
  const { of, budgetUsd, spentUsd, raiseUsd } = budget;
  const used = `The budget of ${of}, $${budgetUsd}, is used up: $${spentUsd} is spent, and the next call does not fit.`;
  const ask =
    raiseUsd === null
      ? `${used} Raise it, then approve to continue; reject to fail the run.`
      : `${used} Approve to grant another $${raiseUsd}; reject to fail the run.`;
  const { n, title } = step;
  return {
    n,
    title,
    ask,
    approvers: ['human'],
    self: true,
    edit: [],
    form: null,
    escalate: null,
    budget,
  } as unknown as Json;
}
