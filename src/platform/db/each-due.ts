import { backoffMs } from '../../shared/backoff.js';
import type { Log } from '../../shared/log.js';
import { Refusal } from '../../shared/refusal.js';
import type { Sql } from './contract.js';

export interface DueRow {
  readonly id: bigint | string;
  /** Failed attempts. */
  readonly tries: number;
}

export interface DueRows<Row extends DueRow> {
  readonly rows: readonly Row[];
  readonly work: (row: Row) => Promise<unknown>;
  /** Stops between two rows once it is aborted. */
  readonly signal?: AbortSignal | undefined;
}

interface Store {
  readonly db: Sql;
  readonly log: Log;
}

/**
 * Processes the due rows of a table in sequence and returns how many succeeded. A row that fails is logged and
 * postponed, ever longer, so that it keeps no other from its turn, also when that fails. Throws at once when the
 * database or another part is away.
 */
export async function forEachDue<Row extends DueRow>(
  { db, log }: Store,
  table: string,
  { rows, work, signal }: DueRows<Row>,
): Promise<number> {
  let done = 0;
  for (const row of rows) {
    if (signal?.aborted) break;
    try {
      await work(row);
      done += 1;
    } catch (error) {
      // The row is not at fault, and the others would fail too.
      if (error instanceof Refusal && error.kind === 'unavailable') throw error;
      const tries = row.tries + 1;
      log.warn({ err: error, table, id: String(row.id), tries }, 'a row of a queue failed, will retry');
      const text = `UPDATE ${table} SET tries = tries + 1, due_at = now() + $2 * interval '1 ms' WHERE id = $1 AND tries = $3`;
      await db
        .query(text, [row.id, backoffMs('row', tries), row.tries])
        .catch(logUnlessUnavailable(log, { table, id: String(row.id) }));
    }
  }
  return done;
}

/** An unavailable database is thrown: the other rows would fail too. */
function logUnlessUnavailable(log: Log, where: object) {
  return (error: unknown): void => {
    if (error instanceof Refusal && error.kind === 'unavailable') throw error;
    log.warn({ err: error, ...where }, 'failed to postpone a row of a queue');
  };
}
