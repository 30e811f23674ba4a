import type { Sql } from '../../platform/db/contract.js';
import { Lru } from '../../shared/lru.js';
import { toNano } from '../../shared/money.js';
import { type Month, monthAt } from '../../shared/month.js';

/** The budget of a workspace or an account for a calendar month. */
export interface MonthBudget {
  /** The key of its row in `spent`. */
  readonly key: string;
  /** `the workspace kettle`, `the account main`. */
  readonly of: string;
  readonly scope: 'workspace' | 'account';
  readonly id: string;
  readonly month: Month;
  /** Nano-USD; null without a budget. */
  readonly cap: bigint | null;
}

interface Row {
  readonly id: string;
  readonly name: string;
  readonly tenant: string;
  readonly account: string;
  readonly budget: number | null;
  readonly timezone: string | null;
  readonly accountNano: bigint | null;
  readonly accountZone: string | null;
}

const KEPT_MS = 2_000;
const kept = new Lru<string, { readonly at: number; readonly budgets: readonly MonthBudget[] }>(1_000);

/** This month's budgets, cached for two seconds, since calls are many. */
export async function monthBudgetsSoon(sql: Sql, workspaceId: string, nowMs: number): Promise<readonly MonthBudget[]> {
  const known = kept.get(workspaceId);
  if (known && Math.abs(nowMs - known.at) < KEPT_MS) return known.budgets;
  const budgets = await readMonthBudgets(sql, workspaceId, nowMs);
  kept.set(workspaceId, { at: nowMs, budgets });
  return budgets;
}

/**
 * The workspace's month by its live AGENTS.md, and its account's. Each has its own timezone: the workspace's falls back
 * to the account's, and that to UTC. A preview spends from its source's month, by the source's AGENTS.md.
 */
export async function readMonthBudgets(sql: Sql, workspaceId: string, nowMs: number): Promise<readonly MonthBudget[]> {
  const [row] = await sql.query<Row>({
    name: 'month-budgets',
    text: `SELECT w.id, w.name, t.id AS tenant, t.name AS account, (r.index->>'budgetUsd')::float8 AS budget, r.index->>'timezone' AS timezone,
        t.budget_nano AS "accountNano", t.timezone AS "accountZone"
      FROM workspace own JOIN workspace w ON w.id = coalesce(own.preview_of, own.id) JOIN tenant t ON t.id = w.tenant_id
        LEFT JOIN revision r ON r.workspace_id = w.id AND r.seq = w.live_seq WHERE own.id = $1`,
    values: [workspaceId],
  });
  if (!row) return [];
  const zone = row.accountZone ?? 'UTC';
  return [
    budgetOf(
      { scope: 'workspace', id: row.id, name: row.name, cap: row.budget === null ? null : toNano(row.budget) },
      monthAt(nowMs, row.timezone ?? zone),
    ),
    budgetOf({ scope: 'account', id: row.tenant, name: row.account, cap: row.accountNano }, monthAt(nowMs, zone)),
  ];
}

interface Owner extends Pick<MonthBudget, 'scope' | 'id' | 'cap'> {
  readonly name: string;
}

function budgetOf({ scope, id, name, cap }: Owner, month: Month): MonthBudget {
  return { key: `month/${scope}/${id}/${month.name}`, of: `the ${scope} ${name}`, scope, id, month, cap };
}

/** `November 2026`. */
export function monthWords({ startMs, endMs, timezone }: Month): string {
  const middle = new Date((startMs + endMs) / 2);
  return new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: timezone }).format(middle);
}
