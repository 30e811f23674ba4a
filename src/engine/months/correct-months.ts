import type { Deps } from '../../deps.js';
import { type MonthBudget, readMonthBudgets } from './month-budgets.js';
import { compareMonth, correctMonth } from './month-pools.js';

/** Past months are kept this long, until the calls of their last minutes have certainly ended. */
const KEEP_DAYS = 40;

/**
 * Compares the months' rows with the usage and corrects them. They differ when a budget is set while calls are active,
 * at a month's boundary, and when a timezone changes; each is corrected within a minute. Deletes months long over. Stops
 * between two months once the signal is aborted.
 */
export async function correctMonths(deps: Pick<Deps, 'db' | 'clock' | 'log'>, signal?: AbortSignal): Promise<void> {
  const now = deps.clock.now();
  const rows = await deps.db.query<{ key: string }>(
    `SELECT key FROM spent WHERE key >= 'month/' AND key < 'month0' ORDER BY key`,
  );
  const known = new Set(rows.map(({ key }) => key));
  for (const budget of await currentMonths(deps, known, signal)) {
    if (signal?.aborted) return;
    if (!known.has(budget.key)) continue;
    const differs = await compareMonth(deps.db, budget);
    if (!differs) continue;
    await deps.db.transaction((sql) => correctMonth(sql, budget));
    deps.log.info({ key: budget.key, ...shown(differs) }, 'corrected a month’s spending from its usage');
  }
  if (signal?.aborted) return;
  const oldest = new Date(now - KEEP_DAYS * 86_400_000).toISOString().slice(0, 7);
  const over = [...known].filter((key) => (key.split('/').at(-1) ?? '') < oldest);
  await deps.db.query('DELETE FROM spent WHERE key = ANY($1) AND held = 0', [over]);
}

/** The current month of every scope with a row, with or without a budget today. */
async function currentMonths(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  keys: ReadonlySet<string>,
  signal: AbortSignal | undefined,
): Promise<readonly MonthBudget[]> {
  const ids = [...keys].map((key) => key.split('/')[2] ?? '');
  const workspaces = await db.query<{ id: string }>(
    `SELECT id FROM workspace WHERE id = ANY($1)
      UNION SELECT (SELECT min(w.id) FROM workspace w WHERE w.tenant_id = t.id) FROM tenant t WHERE t.id = ANY($1)`,
    [ids],
  );
  const found = new Map<string, MonthBudget>();
  for (const { id } of workspaces) {
    if (signal?.aborted) return [];
    if (id === null) continue;
    for (const budget of await readMonthBudgets(db, id, clock.now())) found.set(budget.key, budget);
  }
  return [...found.values()];
}

function shown({ nano, used }: { readonly nano: bigint; readonly used: bigint }): object {
  return { counted: String(nano), used: String(used) };
}
