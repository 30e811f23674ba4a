import type { Sql } from '../../platform/db/contract.js';
import { Refusal } from '../../shared/refusal.js';
import type { Actor } from '../../shared/roles.js';

/** A ref of a workspace other than `main`. */
export interface StoredRef {
  /** Whole: `refs/heads/…`, `refs/tags/…`, `refs/service/…`. */
  readonly name: string;
  readonly oid: string;
  readonly updatedAt: Date;
}

interface RefChange {
  readonly workspaceId: string;
  readonly name: string;
  readonly by: Actor;
  /** The expected current value, for compare-and-set; null for a new ref. Without it the ref is set unconditionally. */
  readonly expect?: string | null | undefined;
}

/**
 * Sets a ref's row in the caller's transaction; false when its current value is not the expected one. `alignRefs` moves
 * the ref on disk. Refuses `conflict` when one of the names is a folder of the other.
 */
export async function setRef(sql: Sql, { oid, ...change }: RefChange & { readonly oid: string }): Promise<boolean> {
  const { workspaceId, name, by, expect } = change;
  await requireRoom(sql, workspaceId, name);
  const values = [workspaceId, name, oid, JSON.stringify(by)];
  const insert = 'INSERT INTO git_ref (workspace_id, name, oid, by) VALUES ($1, $2, $3, $4)';
  const set = 'oid = $3, by = $4, updated_at = now()';
  if (expect === undefined) {
    await sql.query(`${insert} ON CONFLICT (workspace_id, name) DO UPDATE SET ${set}`, values);
    return true;
  }
  if (expect === null) return (await sql.query(`${insert} ON CONFLICT DO NOTHING RETURNING 1`, values)).length === 1;
  const rows = await sql.query(
    `UPDATE git_ref SET ${set} WHERE workspace_id = $1 AND name = $2 AND oid = $5 RETURNING 1`,
    [...values, expect],
  );
  return rows.length === 1;
}

/** Deletes a ref's row; false when its current value is not the expected one. */
export async function deleteRef(sql: Sql, change: Omit<RefChange, 'by'>): Promise<boolean> {
  const { workspaceId, name, expect } = change;
  const rows = await sql.query(
    'DELETE FROM git_ref WHERE workspace_id = $1 AND name = $2 AND ($3::text IS NULL OR oid = $3) RETURNING 1',
    [workspaceId, name, expect ?? null],
  );
  return rows.length === 1;
}

/** The refs of a workspace other than `main`, by name. */
export function listStoredRefs(sql: Sql, workspaceId: string): Promise<readonly StoredRef[]> {
  return sql.query<StoredRef>({
    name: 'list-refs',
    text: 'SELECT name, oid, updated_at AS "updatedAt" FROM git_ref WHERE workspace_id = $1 ORDER BY name COLLATE "C"',
    values: [workspaceId],
  });
}

/** A ref name cannot be a folder of another one, since refs are files. The lock serializes concurrent writers. */
async function requireRoom(sql: Sql, workspaceId: string, name: string): Promise<void> {
  await sql.query(`SELECT pg_advisory_xact_lock(hashtext('git_ref'), hashtext($1))`, [workspaceId]);
  const [other] = await sql.query<{ name: string }>(
    `SELECT name FROM git_ref WHERE workspace_id = $1 AND (starts_with(name, $2 || '/') OR starts_with($2, name || '/')) LIMIT 1`,
    [workspaceId, name],
  );
  if (other) throw new Refusal('conflict', `there is ${other.name} in its way`, { code: 'git/ref-in-the-way' });
}
