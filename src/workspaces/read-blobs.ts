import type { Sql } from '../db/contract.js';

/** The bytes of source blobs of one workspace, by sha. Throws when one is missing: a revision's blobs are kept for good. */
export async function readBlobs(
  sql: Sql,
  workspaceId: string,
  shas: Iterable<string>,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const wanted = [...new Set(shas)];
  const rows = await sql.query<{ sha: string; content: Uint8Array }>({
    name: 'read-blobs',
    text: 'SELECT sha, content FROM blob WHERE workspace_id = $1 AND sha = ANY($2)',
    values: [workspaceId, wanted],
  });
  const found = new Map(rows.map(({ sha, content }) => [sha, content]));
  const missing = wanted.find((sha) => !found.has(sha));
  if (missing !== undefined) throw new Error(`workspace ${workspaceId} has no blob ${missing}`);
  return found;
}
