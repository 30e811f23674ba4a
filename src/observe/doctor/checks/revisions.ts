import { access } from 'node:fs/promises';
import { blobId, readCommit, repositoryFolder, treeId } from '../../../git/index.js';
import type { TableRow } from '../../../platform/db/contract.js';
import type { Check, Fault, Scene } from '../check.js';

const PAGE = 50;

/** Every revision re-hashes: its manifest to its tree, its blobs to their ids, its commit to the same tree. */
export const revisions: Check = {
  remedy:
    'Restore the database, or the workspace’s folder under git, from a backup; until then do not roll back to that revision.',
  async find(scene) {
    if (scene.root !== null) return [];
    return [
      ...(await pointers(scene)),
      ...(await trees(scene)),
      ...(await lostBlobs(scene)),
      ...(await wrongBlobs(scene)),
    ];
  },
};

function pointers({ deps }: Scene): Promise<Fault[]> {
  return deps.db.query<Fault>(
    `SELECT NULL::text AS run, format('Workspace %s (%s) points at revision %s, which is not there.', w.name, w.id, w.live_seq) AS says
      FROM workspace w LEFT JOIN revision r ON r.workspace_id = w.id AND r.seq = w.live_seq WHERE w.live_seq > 0 AND r.seq IS NULL
      UNION ALL SELECT NULL, format('The library of %s points at revision %s, which is not there.', l.tenant_id, l.live_seq)
      FROM library l LEFT JOIN revision r ON r.workspace_id = 'library.' || l.tenant_id AND r.seq = l.live_seq
      WHERE l.live_seq > 0 AND r.seq IS NULL`,
  );
}

interface CheckedRevision extends Pick<TableRow<'Revision'>, 'seq'> {
  readonly workspace: string;
  readonly commit: string;
  readonly tree: string;
  readonly manifest: Readonly<Record<string, { readonly sha: string; readonly executable?: true }>>;
}

async function trees({ deps }: Scene): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (let after: readonly [string, number] = ['', 0]; ; ) {
    const rows = await deps.db.query<CheckedRevision>(
      `SELECT workspace_id AS workspace, seq, git_commit AS commit, tree_hash AS tree, manifest FROM revision
        WHERE (workspace_id, seq) > ($1, $2) ORDER BY workspace_id, seq LIMIT ${PAGE}`,
      [...after],
    );
    for (const row of rows) faults.push(...(await treeFaults(deps.config.dataDir, row)));
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return faults;
    after = [last.workspace, last.seq];
  }
}

async function treeFaults(dataDir: string, row: CheckedRevision): Promise<Fault[]> {
  const name = `Revision ${row.seq} of workspace ${row.workspace}`;
  const files = Object.entries(row.manifest).map(([path, { sha, executable }]) => ({ path, sha, executable }));
  if (treeId(files) !== row.tree)
    return [{ run: null, says: `${name} does not re-hash: its files are not those of its tree.` }];
  const gitdir = repositoryFolder(dataDir, row.workspace);
  // A missing repository, or one on another machine, is rebuilt from the rows at its next use.
  if (!(await isThere(gitdir))) return [];
  const commit = await readCommit({ gitdir }, row.commit);
  if (commit === null || commit.tree === row.tree) return [];
  return [{ run: null, says: `${name} does not re-hash: commit ${row.commit} holds another tree.` }];
}

function lostBlobs({ deps }: Scene): Promise<Fault[]> {
  return deps.db.query<Fault>(
    `SELECT NULL::text AS run, format('Workspace %s has lost the content of %s, as %s.', x.workspace_id, min(x.path), x.sha) AS says
      FROM (SELECT workspace_id, key AS path, value->>'sha' AS sha FROM revision, jsonb_each(manifest)
        UNION ALL SELECT workspace_id, path, sha FROM memory_file) x
      WHERE NOT EXISTS (SELECT 1 FROM blob b WHERE b.workspace_id = x.workspace_id AND b.sha = x.sha) GROUP BY x.workspace_id, x.sha`,
  );
}

async function wrongBlobs({ deps }: Scene): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (let after: readonly [string, string] = ['', '']; ; ) {
    const rows = await deps.db.query<{ workspace: string; sha: string; content: Uint8Array }>(
      `SELECT workspace_id AS workspace, sha, content FROM blob
        WHERE (workspace_id, sha) > ($1, $2) ORDER BY workspace_id, sha LIMIT ${PAGE}`,
      [...after],
    );
    for (const { workspace, sha, content } of rows) {
      if (blobId(content) !== sha)
        faults.push({ run: null, says: `The content of blob ${sha} of workspace ${workspace} is not its own.` });
    }
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return faults;
    after = [last.workspace, last.sha];
  }
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
