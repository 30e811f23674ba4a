import type { Sql } from '../../platform/db/contract.js';

/** The bytes of source blobs by sha, of a workspace or of several homes. Throws when one is missing, since they are never deleted. */
export async function readBlobs(
  sql: Sql,
  home: string | readonly string[],
  shas: Iterable<string>,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const wanted = [...new Set(shas)];
  const rows = await sql.query<{ sha: string; content: Uint8Array }>({
    name: 'read-blobs',
    text: 'SELECT sha, content FROM blob WHERE workspace_id = ANY($1) AND sha = ANY($2)',
    values: [typeof home === 'string' ? [home] : home, wanted],
  });
  const found = new Map(rows.map(({ sha, content }) => [sha, content]));
  const missing = wanted.find((sha) => !found.has(sha));
  if (missing !== undefined) throw new Error(`workspace ${String(home)} has no blob ${missing}`);
  return found;
}
