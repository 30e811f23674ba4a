import type { Issue } from '../../format/model.js';
import type { Sql } from '../../platform/db/contract.js';
import { Refusal } from '../../shared/refusal.js';
import { diffTrees, isEmptyDiff, parseManifest } from '../workspaces/manifest.js';

export interface Repeat {
  readonly revision: string;
  readonly gitCommit: string;
  readonly warnings: readonly Issue[];
}

interface Row {
  readonly revision: string;
  readonly gitCommit: string;
  readonly manifest: unknown;
  readonly warnings: readonly Issue[];
}

/**
 * The revision with this id, if it has the same files: then the deploy is a repeat and changes nothing. Refuses
 * `conflict` when it has other files.
 */
export async function findRepeat(
  sql: Sql,
  workspaceId: string,
  { id, files }: { readonly id: string | null; readonly files: ReadonlyMap<string, { readonly sha: string }> },
): Promise<Repeat | null> {
  if (id === null) return null;
  const [row] = await sql.query<Row>({
    name: 'find-repeat',
    text: `SELECT id AS revision, git_commit AS "gitCommit", manifest, index->'warnings' AS warnings FROM revision
      WHERE workspace_id = $1 AND (id = $2 OR git_commit = $2) ORDER BY seq LIMIT 1`,
    values: [workspaceId, id],
  });
  if (!row) return null;
  // Memory of agents in the revision was not part of the deploy.
  const own = new Map([...parseManifest(row.manifest)].filter(([, { fromAgent }]) => !fromAgent));
  if (isEmptyDiff(diffTrees(own, files))) return row;
  throw new Refusal('conflict', `${id} was deployed before with other files; name the commit that holds these`, {
    code: 'deploy/other-tree',
  });
}
