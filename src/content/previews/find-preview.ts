import type { Sql } from '../../platform/db/contract.js';

export interface PreviewRow {
  readonly id: string;
  readonly name: string;
  readonly created: false;
}

/** The preview of a branch; null when the branch has none. */
export async function findPreview(sql: Sql, source: string, branch: string): Promise<PreviewRow | null> {
  const [row] = await sql.query<{ id: string; name: string }>({
    name: 'find-preview',
    text: 'SELECT id, name FROM workspace WHERE preview_of = $1 AND preview_branch = $2',
    values: [source, branch],
  });
  return row ? { ...row, created: false } : null;
}

/** Serializes the writers of a workspace's previews until the transaction ends. */
export async function lockPreviews(sql: Sql, source: string): Promise<void> {
  await sql.query({
    name: 'lock-previews',
    text: `SELECT pg_advisory_xact_lock(hashtextextended('previews/' || $1, 0))`,
    values: [source],
  });
}
