import type { Sql } from './contract.js';

/**
 * Deletes the rows of a table for which the condition holds, but for those that somebody has under lock: these are left
 * to the next round. Any number of processes sweep at once, and none waits for another or for who is at work.
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
