import type { Deps } from '../../deps.js';
import type { LaneFolder, ToolContext } from '../contract.js';
import { isUnchanged, type KeptState, readKept, writeKept } from './kept-state.js';
import { readLaneFile, writeLaneFile } from './lane-files.js';
import { MAX_KEPT_FILE, MAX_KEPT_TOTAL } from './lane-limits.js';

type RestoreDeps = Pick<Deps, 'db' | 'blobs' | 'sandbox' | 'log'>;

interface Stored {
  readonly path: string;
  readonly sha: string;
  readonly size: bigint;
}

/** Brings outputs/ and files/ of a lane's folder to what is stored, but for files that the lane changed itself. */
export async function restoreFiles(deps: RestoreDeps, run: ToolContext['run'], folder: LaneFolder): Promise<void> {
  const kept = await readKept(folder.root);
  const stale = (await listStored(deps, run)).filter(({ path, sha }) => kept.get(path)?.sha !== sha);
  let total = 0;
  for (const stored of stale) {
    total += Number(stored.size);
    if (Number(stored.size) > MAX_KEPT_FILE || total > MAX_KEPT_TOTAL) {
      deps.log.warn({ runId: run.id, path: stored.path }, 'a stored file is too big for the lane; Read still finds it');
      continue;
    }
    await restoreFile(deps, folder, { stored, kept });
  }
  if (stale.length > 0) await writeKept(folder.root, kept);
}

async function restoreFile(
  deps: RestoreDeps,
  { work }: LaneFolder,
  { stored, kept }: { readonly stored: Stored; readonly kept: KeptState },
): Promise<void> {
  const local = await readLaneFile(work, stored.path, MAX_KEPT_FILE);
  const isOwn = local !== null && (local.content === null || !isUnchanged(kept.get(stored.path), local.stat));
  const content = isOwn ? null : await deps.blobs.get(stored.sha);
  if (content === null) return;
  const isThere = await writeLaneFile({ work, path: stored.path, content, uid: deps.sandbox.uid }).then(
    () => true,
    (error: unknown) => unlessInTheWay(error),
  );
  if (!isThere) {
    deps.log.warn({ path: stored.path }, 'a stored file is not in the lane: something else has its place');
    return;
  }
  const written = await readLaneFile(work, stored.path, MAX_KEPT_FILE);
  if (written?.content) {
    kept.set(stored.path, { sha: stored.sha, size: written.stat.size, ctimeMs: written.stat.ctimeMs });
  }
}

/** What stands where a file or a folder of its way should: a folder, a file or a link. `files/a` and `files/a/b` may both be stored. */
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
