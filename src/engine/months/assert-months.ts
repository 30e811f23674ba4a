import type { Sql } from '../../platform/db/contract.js';
import { toUsd } from '../../shared/money.js';
import { Refusal } from '../../shared/refusal.js';
import { type MonthBudget, monthWords, readMonthBudgets } from './month-budgets.js';
import { readMonth } from './month-pools.js';

/** How each budget is raised, for people. */
const RAISE = {
  workspace: 'raise `budget` in its AGENTS.md',
  account: 'raise `budget` in the account’s settings (PATCH /api/account)',
} as const satisfies Record<MonthBudget['scope'], string>;

/** Refuses a new run once the workspace or its account has spent its budget for this month: `out_of_credit`. */
export async function assertMonths(sql: Sql, workspaceId: string, nowMs: number): Promise<void> {
  for (const budget of await readMonthBudgets(sql, workspaceId, nowMs)) {
    const { cap, of, scope, month } = budget;
    if (cap === null) continue;
    const spent = await readMonth(sql, budget);
    if (spent < cap) continue;
    const next = new Date(month.endMs).toISOString();
    throw new Refusal(
      'out_of_credit',
      `${of} has spent $${toUsd(spent)} of its budget of $${toUsd(cap)} for ${monthWords(month)}: ${RAISE[scope]}, ` +
        `or wait for the next month, which begins at ${next} (${month.timezone})`,
      { code: 'budget/month', scope, month: month.name, budgetUsd: toUsd(cap), spentUsd: toUsd(spent), resetsAt: next },
    );
  }
}
