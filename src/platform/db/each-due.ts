import { backoffMs } from '../../shared/backoff.js';
import { forEachIndependently } from '../../shared/for-each-independently.js';
import { Refusal } from '../../shared/refusal.js';
import type { Sql } from './contract.js';

export interface DueRow {
  readonly id: bigint | string;
  /** Failed attempts. */
  readonly tries: number;
}

/**
 * Works off the due rows of a table in sequence. A row that fails is put off, ever longer, so that it keeps no other from
 * its turn. Throws the first error after all rows.
 */
export async function forEachDue<Row extends DueRow>(
  sql: Sql,
  table: string,
  { rows, work }: { readonly rows: readonly Row[]; readonly work: (row: Row) => Promise<unknown> },
): Promise<void> {
  await forEachIndependently(rows, async (row) => {
    try {
      await work(row);
    } catch (error) {
      // The row is not at fault when the database or another part is away.
      if (error instanceof Refusal && error.kind === 'unavailable') throw error;
      await sql.query(
        `UPDATE ${table} SET tries = tries + 1, due_at = now() + $2 * interval '1 ms' WHERE id = $1 AND tries = $3`,
        [row.id, backoffMs('row', row.tries + 1), row.tries],
      );
      throw error;
    }
  });
}
