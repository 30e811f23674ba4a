import type { Sql } from '../../platform/db/contract.js';

/** Lanes of a run that continues, with the lanes forked off them. */
export interface LanesOf {
  readonly runId: string;
  readonly lanes: readonly string[];
}

/**
 * Books the pending model calls of these runs, and of those lanes of one more, at their reservations, never free, and
 * releases those of shared budgets. Call it once a transaction, under the lock of the runs' rows.
 */
export async function bookLost(sql: Sql, runIds: readonly string[], within: LanesOf | null = null): Promise<void> {
  await sql.query('SELECT book_lost($1, $2, $3)', [runIds, within?.runId ?? null, within?.lanes ?? null]);
}
