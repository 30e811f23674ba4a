import type { Sql } from '../../platform/db/contract.js';
import type { MonthBudget } from './month-budgets.js';

/** Rows of `usage` that count under it; a workspace's previews spend from its month. */
const OF_SCOPE = {
  workspace: 'workspace_id IN (SELECT $2 UNION ALL SELECT id FROM workspace WHERE preview_of = $2)',
  account: 'tenant_id = $2',
} as const satisfies Record<MonthBudget['scope'], string>;

const usedOf = (scope: MonthBudget['scope']): string =>
  `SELECT coalesce(sum(nano), 0)::bigint FROM usage WHERE ${OF_SCOPE[scope]}
    AND at >= to_timestamp($3::float8 / 1000) AND at < to_timestamp($4::float8 / 1000)`;

function valuesOf({ key, id, month }: MonthBudget): readonly unknown[] {
  return [key, id, month.startMs, month.endMs];
}

/** Creates the month's row with the usage so far: until now it had no budget. */
export async function openMonth(sql: Sql, budget: MonthBudget): Promise<void> {
  await sql.query({
    name: `open-month-${budget.scope}`,
    text: `INSERT INTO spent (key, nano) SELECT $1, (${usedOf(budget.scope)}) ON CONFLICT DO NOTHING`,
    values: valuesOf(budget),
  });
}

/** What the month has spent, nano-USD. */
export async function readMonth(sql: Sql, budget: MonthBudget): Promise<bigint> {
  const read = () =>
    sql.query<{ nano: bigint }>({
      name: 'read-month',
      text: 'SELECT nano FROM spent WHERE key = $1',
      values: [budget.key],
    });
  let [row] = await read();
  if (!row) {
    await openMonth(sql, budget);
    [row] = await read();
  }
  return row?.nano ?? 0n;
}

/**
 * The difference between a month's row and its usage; null when there is none. One statement reads both at one moment.
 */
export async function compareMonth(
  sql: Sql,
  budget: MonthBudget,
): Promise<{ readonly nano: bigint; readonly used: bigint } | null> {
  const [row] = await sql.query<{ nano: bigint; used: bigint; held: bigint; holds: bigint }>({
    name: `look-at-month-${budget.scope}`,
    text: `SELECT s.nano, s.held, (${usedOf(budget.scope)}) AS used,
        (SELECT coalesce(sum(nano), 0)::bigint FROM hold WHERE key = $1) AS holds
      FROM spent s WHERE s.key = $1`,
    values: valuesOf(budget),
  });
  if (!row || (row.nano === row.used && row.held === row.holds)) return null;
  return { nano: row.nano, used: row.used };
}

/**
 * Corrects a month's row. Call this in a transaction: it reads under the row's lock, so that no write in between is
 * lost.
 */
export async function correctMonth(sql: Sql, budget: MonthBudget): Promise<void> {
  await sql.query('SELECT 1 FROM spent WHERE key = $1 FOR UPDATE', [budget.key]);
  await sql.query({
    name: `set-month-${budget.scope}`,
    text: `UPDATE spent SET nano = (${usedOf(budget.scope)}),
        held = (SELECT coalesce(sum(nano), 0)::bigint FROM hold WHERE key = $1)
      WHERE key = $1`,
    values: valuesOf(budget),
  });
}
