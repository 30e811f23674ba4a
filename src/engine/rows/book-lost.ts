import type { Sql } from '../../db/contract.js';

/** Lanes of a run that goes on, with what was forked off them. */
export interface LanesOf {
  readonly runId: string;
  readonly lanes: readonly string[];
}

/**
 * Books the model calls that these runs, and those lanes of one more, had in flight at what they had set aside, never
 * free, and gives back what they hold of shared caps. Call it once a transaction, under the lock of the runs' rows.
 */
export async function bookLost(sql: Sql, runIds: readonly string[], within: LanesOf | null = null): Promise<void> {
  await sql.query('SELECT book_lost($1, $2, $3)', [runIds, within?.runId ?? null, within?.lanes ?? null]);
}
