import { leavesOf } from '../../format/model.js';
import { toNano } from '../../shared/money.js';
import { evalKeyOf } from '../cases/lane-case.js';
import type { Lane } from '../lane/lane.js';
import { type MonthBudget, monthBudgetsSoon, monthWords, readMonthBudgets } from '../months/month-budgets.js';
import { hasAskedForBudget } from './budget-gates.js';
import { agentKeyOf, leftOfPool, type MonthCap, type PlanCap, type Pool, readPools, stepKeyOf } from './pools.js';
import type { Session } from './session.js';

/** A budget that applies to a call, and what is left of it, nano-USD. */
export interface Cap {
  readonly key: string;
  /** `the run`, `the step`, `the agent x`, `the workspace x for November 2026`. */
  readonly of: string;
  readonly budget: bigint;
  readonly left: bigint;
  /** Reserved by calls of other lanes; a part of it may come back. */
  readonly held: bigint;
}

export const runKeyOf = (runId: string): string => `run/${runId}`;

/** The run that owns the budget; null for budgets of a step, an agent or a month. */
export function runOfCap({ key }: Pick<Cap, 'key'>): string | null {
  const [kind, id = null, ...rest] = key.split('/');
  return kind === 'run' && rest.length === 0 ? id : null;
}

export const isMonthCap = ({ key }: Pick<Cap, 'key'>): boolean => key.startsWith('month/');

/** The spent amount, nano-USD. */
export function spentOf({ budget, left, held }: Cap): bigint {
  return budget - left - held;
}

/**
 * Reads the budgets that the next call shares with other lanes. From now on the lane's writes reserve and book under
 * them.
 */
export async function loadPools(session: Session): Promise<readonly Pool[]> {
  const { lane } = session;
  const { db, clock } = lane.deps;
  // The budget may have been raised a moment ago, so do not use the cache.
  const read = hasAskedForBudget(session) ? readMonthBudgets : monthBudgetsSoon;
  const months = await read(db, lane.run.workspaceId, clock.now());
  const pools = await readPools(lane, plannedCaps(session), months.flatMap(asCap));
  lane.writer.caps = pools.map(({ key, cap }) => ({ key, cap: String(cap) }));
  return pools;
}

function asCap(budget: MonthBudget): MonthCap[] {
  const { cap, of, month } = budget;
  return cap === null ? [] : [{ ...budget, cap, of: `${of} for ${monthWords(month)}` }];
}

function plannedCaps({ lane, step, agent }: Session): PlanCap[] {
  const { id } = lane.run;
  const planned: PlanCap[] = evalCaps(lane);
  // Work of sub-agents counts under the step. So do the agent's own calls when one budget applies to both.
  const budgetUsd = agent.builtins.includes('run_agent') ? least([step.budgetUsd, agent.budgetUsd]) : step.budgetUsd;
  if (budgetUsd !== undefined) {
    planned.push({ key: stepKeyOf(id, step.id), of: 'the step', cap: toNano(budgetUsd), steps: [step.id] });
  }
  if (agent.budgetUsd !== undefined) {
    const own = leavesOf(lane.plan).filter((other) => other.agent === agent.name);
    planned.push({
      key: agentKeyOf(id, agent.name),
      of: `the agent ${agent.name}`,
      cap: toNano(agent.budgetUsd),
      steps: own.map((one) => one.id),
    });
  }
  return planned;
}

/** The smallest of the given budgets; undefined for none. */
export function least(budgets: readonly (number | undefined)[]): number | undefined {
  const set = budgets.filter((budget) => budget !== undefined);
  return set.length === 0 ? undefined : Math.min(...set);
}

/** All cases of an eval run share its budget. Its row is created with the eval run. */
function evalCaps({ laneCase }: Lane): PlanCap[] {
  if (!laneCase?.evalRunId || laneCase.budgetNano === null) return [];
  return [{ key: evalKeyOf(laneCase.evalRunId), of: 'the eval', cap: laneCase.budgetNano, steps: [] }];
}

/** Every budget that applies to the next call of this step. */
export async function capsOf({ lane }: Session, pools: readonly Pool[]): Promise<readonly Cap[]> {
  const caps = pools.map((pool) => ({ key: pool.key, of: pool.of, budget: pool.cap, ...leftOfPool(lane, pool) }));
  const own = await ownCap(lane);
  return own === null ? caps : [...caps, own];
}

async function ownCap(lane: Lane): Promise<Cap | null> {
  if (lane.run.budgetNano === null) return null;
  await lane.writer.quiet();
  const [row] = await lane.deps.db.query<{ budget: bigint; spent: bigint; reserved: bigint }>({
    name: 'run-used',
    text: 'SELECT budget_nano AS budget, spent_nano AS spent, reserved_nano AS reserved FROM run WHERE id = $1',
    values: [lane.run.id],
  });
  if (!row) return null;
  const { budget, spent, reserved } = row;
  // The settled call of this turn may be in the batch that is written with the next start.
  const held = reserved - lane.writer.batch.release;
  const left = budget - spent - held - lane.writer.batch.spend;
  return { key: runKeyOf(lane.run.id), of: 'the run', budget, left, held };
}
