import type { Sql } from './contract.js';

/**
 * Deletes the rows of a table that match the condition, except locked ones, which the next round deletes. Any number of
 * processes may sweep at the same time: none waits for another.
 */
export async function sweepRows(
  sql: Sql,
  table: string,
  condition: string,
  values: readonly unknown[] = [],
): Promise<void> {
  await sql.query(
    `DELETE FROM ${table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM ${table} WHERE ${condition} FOR UPDATE SKIP LOCKED))`,
    values,
  );
}
