import type { Deps } from '../../deps.js';
import type { LaneFolder, ToolContext } from '../contract.js';
import { isUnchanged, type KeptEntry, type KeptState, readKept, writeKept } from './kept-state.js';
import { readLaneFile, writeLaneFile } from './lane-files.js';
import { MAX_KEPT_FILE, MAX_KEPT_TOTAL } from './lane-limits.js';

type RestoreDeps = Pick<Deps, 'db' | 'blobs' | 'sandbox' | 'log'>;

interface Stored {
  readonly path: string;
  readonly sha: string;
  readonly size: bigint;
}

/**
 * Updates outputs/ and files/ of a lane's folder to the stored files, except those that the lane changed itself.
 * Records each file before writing it: otherwise a copy that a killed worker left would count as the lane's own change,
 * and the next stored step would overwrite newer versions of others.
 */
export async function restoreFiles(deps: RestoreDeps, run: ToolContext['run'], folder: LaneFolder): Promise<void> {
  const kept = await readKept(folder.root);
  const stale = (await listStored(deps, run)).filter(
    ({ path, sha }) => kept.get(path)?.sha !== sha || isNoted(kept, path),
  );
  const wanted = await withoutOwn(deps, { run, folder, kept }, stale);
  if (wanted.length === 0) return;
  const before = new Map(kept);
  for (const { path, sha } of wanted) kept.set(path, { sha, ...NOTED });
  await writeKept(folder.root, kept);
  for (const stored of wanted) {
    const entry = (await restoreFile(deps, folder, stored)) ?? before.get(stored.path);
    if (entry) kept.set(stored.path, entry);
    else kept.delete(stored.path);
  }
  await writeKept(folder.root, kept);
}

/** The state of a file that is being written, which matches no file. */
const NOTED = { size: -1, ctimeMs: -1 } as const;

function isNoted(kept: KeptState, path: string): boolean {
  return kept.get(path)?.size === NOTED.size;
}

interface Lane {
  readonly run: ToolContext['run'];
  readonly folder: LaneFolder;
  readonly kept: KeptState;
}

async function withoutOwn(deps: RestoreDeps, { run, folder, kept }: Lane, stale: readonly Stored[]): Promise<Stored[]> {
  const wanted: Stored[] = [];
  let total = 0;
  for (const stored of stale) {
    total += Number(stored.size);
    if (Number(stored.size) > MAX_KEPT_FILE || total > MAX_KEPT_TOTAL) {
      deps.log.warn({ runId: run.id, path: stored.path }, 'stored file is too big for the lane, only Read finds it');
      continue;
    }
    const local = await readLaneFile(folder.work, stored.path, MAX_KEPT_FILE);
    const isOwn = local !== null && (local.content === null || !isUnchanged(kept.get(stored.path), local.stat));
    if (!isOwn || isNoted(kept, stored.path)) wanted.push(stored);
  }
  return wanted;
}

/** Writes a stored file into the lane and returns its entry; null when that is not possible. */
async function restoreFile(deps: RestoreDeps, { work }: LaneFolder, stored: Stored): Promise<KeptEntry | null> {
  const content = await deps.blobs.get(stored.sha);
  if (content === null) return null;
  const isThere = await writeLaneFile({ work, path: stored.path, content, uid: deps.sandbox.uid }).then(
    () => true,
    (error: unknown) => unlessInTheWay(error),
  );
  if (!isThere) {
    deps.log.warn({ path: stored.path }, 'failed to restore a stored file, another entry has its path');
    return null;
  }
  const written = await readLaneFile(work, stored.path, MAX_KEPT_FILE);
  if (!written?.content) return null;
  return { sha: stored.sha, size: written.stat.size, ctimeMs: written.stat.ctimeMs };
}

/** Errors when a folder, file or link is in the way of a stored file. `files/a` and `files/a/b` may both be stored. */
const IN_THE_WAY = new Set(['EISDIR', 'ENOTDIR', 'ELOOP', 'EEXIST', 'ENOTEMPTY', 'EACCES', 'EPERM']);

function unlessInTheWay(error: unknown): false {
  if (IN_THE_WAY.has((error as NodeJS.ErrnoException).code ?? '')) return false;
  throw error;
}

/** The workspace's files/, and the newest of each path that this run's steps archived from outputs/. */
async function listStored(deps: RestoreDeps, run: ToolContext['run']): Promise<Stored[]> {
  return deps.db.query<Stored>({
    name: 'lane-stored-files',
    text: `SELECT path, sha, size FROM storage_entry WHERE workspace_id = $1 AND path LIKE 'files/%'
      UNION ALL
      SELECT path, sha, size FROM (
        SELECT DISTINCT ON (f.path) f.path, f.sha, f.size
        FROM run_file f LEFT JOIN step s ON s.run_id = f.run_id AND s.id = f.step
        WHERE f.run_id = $2 ORDER BY f.path, s.started_at DESC NULLS LAST
      ) AS newest`,
    values: [run.workspaceId, run.id],
  });
}
