import type { Deps } from '../../deps.js';
import { LIBRARY } from '../../format/index.js';
import { libraryId } from './library-tree.js';
import { readBlobs } from './live-tree.js';

/** A run reads source and library from the revisions it started with, and memory, storage, files and outputs as they are now. */
export interface RunView {
  readonly tenantId: string;
  readonly workspaceId: string;
  /** The revision's id, as the run's row keeps it. */
  readonly revision: string;
  /** The revision of the account's library; 0 is none. */
  readonly librarySeq: number;
}

interface RunFileInfo {
  readonly path: string;
  /** A git object id for source and memory, a SHA-256 for produced files. */
  readonly sha: string;
  readonly size: number;
}

type Reader = (deps: Pick<Deps, 'db' | 'blobs'>, view: RunView, path: string) => Promise<RunFile | null>;

type RunFile = { readonly content: Uint8Array; readonly sha: string };

const READERS: Readonly<Record<string, Reader>> = {
  memory: readMemory,
  storage: readProduced,
  files: readProduced,
  outputs: readProduced,
  state: readState,
  library: readShared,
};

/** One file as a run sees it; null when it does not exist. */
export async function readRunFile(
  deps: Pick<Deps, 'db' | 'blobs'>,
  view: RunView,
  path: string,
): Promise<RunFile | null> {
  const [folder = ''] = path.split('/');
  const reader = Object.hasOwn(READERS, folder) ? READERS[folder] : undefined;
  return (reader ?? readPinned)(deps, view, path);
}

async function readPinned(deps: Pick<Deps, 'db'>, view: RunView, path: string): Promise<RunFile | null> {
  const [row] = await deps.db.query<RunFile>({
    name: 'read-pinned-file',
    text: `SELECT b.content, b.sha FROM revision r
      JOIN blob b ON b.workspace_id = r.workspace_id AND b.sha = r.manifest->$3::text->>'sha'
      WHERE r.workspace_id = $1 AND r.id = $2`,
    values: [view.workspaceId, view.revision, path],
  });
  return row ?? null;
}

/** A file of the account's library, by its path below `library/`. Runs do not read the account's AGENTS.md. */
async function readShared(deps: Pick<Deps, 'db'>, view: RunView, path: string): Promise<RunFile | null> {
  const inside = path.slice(LIBRARY.length);
  if (!inside.includes('/')) return null;
  const [row] = await deps.db.query<RunFile>({
    name: 'read-shared-file',
    text: `SELECT b.content, b.sha FROM revision r
      JOIN blob b ON b.workspace_id = r.workspace_id AND b.sha = r.manifest->$3::text->>'sha'
      WHERE r.workspace_id = $1 AND r.seq = $2`,
    values: [libraryId(view.tenantId), view.librarySeq, inside],
  });
  return row ?? null;
}

async function readMemory(deps: Pick<Deps, 'db'>, view: RunView, path: string): Promise<RunFile | null> {
  const [row] = await deps.db.query<RunFile>({
    name: 'read-memory-file',
    text: `SELECT b.content, b.sha FROM workspace w
      LEFT JOIN revision r ON r.workspace_id = w.id AND r.seq = w.live_seq
      LEFT JOIN memory_file m ON m.workspace_id = w.id AND m.path = $2
      JOIN blob b ON b.workspace_id = w.id AND b.sha = coalesce(m.sha, r.manifest->$2::text->>'sha')
      WHERE w.id = $1`,
    values: [view.workspaceId, path],
  });
  return row ?? null;
}

async function readProduced(deps: Pick<Deps, 'db' | 'blobs'>, view: RunView, path: string): Promise<RunFile | null> {
  const [row] = await deps.db.query<{ sha: string }>({
    name: 'read-produced-file',
    text: 'SELECT sha FROM storage_entry WHERE workspace_id = $1 AND path = $2',
    values: [view.workspaceId, path],
  });
  const content = row ? await deps.blobs.get(row.sha) : null;
  return row && content ? { content, sha: row.sha } : null;
}

/** The status and the result of the last ended run of a flow; null before the first one. */
async function readState(deps: Pick<Deps, 'db'>, view: RunView, path: string): Promise<RunFile | null> {
  const [row] = await deps.db.query<{ content: string; sha: string }>({
    name: 'read-flow-state',
    text: `SELECT content, encode(sha256(convert_to(content, 'UTF8')), 'hex') AS sha FROM (
        SELECT state_text(r) AS content FROM run r WHERE r.workspace_id = $1 AND r.flow = $2
          AND r.finished_at IS NOT NULL AND r.started_at IS NOT NULL AND r.mode = 'normal' AND NOT starts_with(r.flow, 'agents/')
        ORDER BY r.finished_at DESC LIMIT 1) AS last`,
    values: [view.workspaceId, /^state\/(.+)\.md$/.exec(path)?.[1] ?? ''],
  });
  return row ? { content: new TextEncoder().encode(row.content), sha: row.sha } : null;
}

/** All files of the run's view, by path. */
export async function listRunFiles(deps: Pick<Deps, 'db'>, view: RunView): Promise<readonly RunFileInfo[]> {
  const rows = await deps.db.query<RunFileInfo & { readonly size: bigint }>({
    name: 'list-run-files',
    text: `
      SELECT path, sha, size::bigint FROM (
        SELECT f.key AS path, f.value->>'sha' AS sha, (f.value->>'size')::bigint AS size
          FROM revision r, jsonb_each(r.manifest) f
          WHERE r.workspace_id = $1 AND r.id = $2 AND NOT starts_with(f.key, 'memory/') AND NOT starts_with(f.key, 'library/')
        UNION ALL
        SELECT 'library/' || f.key, f.value->>'sha', (f.value->>'size')::bigint
          FROM revision r, jsonb_each(r.manifest) f
          WHERE r.workspace_id = $3 AND r.seq = $4 AND f.key LIKE '%/%'
        UNION ALL
        SELECT f.key, f.value->>'sha', (f.value->>'size')::bigint
          FROM workspace w JOIN revision r ON r.workspace_id = w.id AND r.seq = w.live_seq, jsonb_each(r.manifest) f
          WHERE w.id = $1 AND starts_with(f.key, 'memory/')
            AND NOT EXISTS (SELECT 1 FROM memory_file m WHERE m.workspace_id = w.id AND m.path = f.key)
        UNION ALL SELECT path, sha, size FROM memory_file WHERE workspace_id = $1
        UNION ALL SELECT path, sha, size FROM storage_entry WHERE workspace_id = $1
        UNION ALL SELECT path, encode(sha256(convert_to(content, 'UTF8')), 'hex'), octet_length(content) FROM flow_states($1)
      ) AS seen ORDER BY path COLLATE "C"`,
    values: [view.workspaceId, view.revision, libraryId(view.tenantId), view.librarySeq],
  });
  return rows.map(({ path, sha, size }) => ({ path, sha, size: Number(size) }));
}

/** The bytes of files that `listRunFiles` lists or the run's plan names, from the workspace and the library. */
export function readRunBlobs(deps: Pick<Deps, 'db'>, view: RunView, shas: Iterable<string>) {
  return readBlobs(deps.db, [view.workspaceId, libraryId(view.tenantId)], shas);
}

/** The tables whose rows belong to one run, by `run_id`. Slots, outbox rows and sandboxes may outlive them. */
export const RUN_TABLES = [
  'hold',
  'eval_canned',
  'run_file',
  'run_event',
  'message',
  'call',
  'park',
  'step',
  'lane',
] as const;
