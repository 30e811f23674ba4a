import type { Readable } from 'node:stream';
import type { Deps } from '../deps.js';
import { findWorkspace } from '../people/index.js';
import { notFound } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';

export interface ArchivedFile {
  readonly path: string;
  readonly size: number;
  /** The SHA-256 of its bytes. */
  readonly sha: string;
  readonly open: () => Promise<Readable>;
}

/** A file that a run archived from an agent's outputs/, as a stream. `path` may leave out `outputs/`. */
export async function openArchive(
  deps: Deps,
  caller: Caller,
  input: { readonly workspace: string; readonly runId: string; readonly agent: string; readonly path: string },
): Promise<ArchivedFile> {
  const workspace = await findWorkspace(deps.db, caller, input.workspace);
  const path = input.path.startsWith('outputs/') ? input.path : `outputs/${input.path}`;
  const [file] = await deps.db.query<{ sha: string; size: bigint }>({
    name: 'archived-file',
    text: `SELECT f.sha, f.size FROM run r JOIN run_file f ON f.run_id = r.id
      WHERE r.id = $1 AND r.workspace_id = $2 AND f.agent = $3 AND f.path = $4`,
    values: [input.runId, workspace.id, input.agent, path],
  });
  if (!file) throw notFound('file');
  const open = async () => {
    const content = await deps.blobs.open(file.sha);
    if (!content) throw notFound('file');
    return content;
  };
  return { path, size: Number(file.size), sha: file.sha, open };
}
