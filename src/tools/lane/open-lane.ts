import { chmod, chown, lstat, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Deps } from '../../deps.js';
import type { LaneFolder, LanePlace, ToolContext } from '../contract.js';
import { restoreFiles } from './restore-files.js';

type LaneDeps = Pick<Deps, 'config' | 'db' | 'blobs' | 'sandbox' | 'log'>;

/** Where programs find the workspace's own files; the links in /work make `knowledge/x.md` work for them too. */
export const WORKSPACE_INSIDE = '/workspace';
export const SHOWN_FOLDERS = ['knowledge', 'memory', 'skills', 'tools', 'agents', 'library', '.agents'] as const;

export function scratchFolder(deps: Pick<Deps, 'config'>, runId: string): string {
  return join(deps.config.dataDir, 'scratch', runId);
}

/** The host's folder that programs see as /workspace. */
export function shownFolder(root: string): string {
  return join(root, 'shown');
}

/** Where a lane's folder is on this host, or would be. */
export function lanePlace(deps: Pick<Deps, 'config'>, runId: string, lane: string): LanePlace {
  const root = join(scratchFolder(deps, runId), lane.replaceAll('/', '_'));
  return { root, work: join(root, 'work') };
}

/**
 * Opens the lane's folder on this host, or creates it, with outputs/ and files/ as they are stored now. What this lane
 * has changed since its last stored step stays. `fresh` says that the lane was interrupted in the middle of a step, so
 * its scratch files are gone. Call it once a step, before its first tool.
 */
export async function openLane(deps: LaneDeps, run: ToolContext['run'], lane: string): Promise<LaneFolder> {
  const { root, work } = lanePlace(deps, run.id, lane);
  // The mark says that the folder is complete: a worker that died while creating it leaves one that programs cannot
  // write to.
  const mark = join(root, 'made');
  const isNew = (await lstat(mark).catch(() => null)) === null;
  if (isNew) {
    await makeLane(deps.sandbox, root, work);
    await writeFile(mark, '');
  }
  const folder = { root, work, fresh: isNew && (await isMidStep(deps, run.id, lane)) };
  await restoreFiles(deps, run, folder);
  return folder;
}

async function makeLane({ driver, uid }: LaneDeps['sandbox'], root: string, work: string): Promise<void> {
  // Without a sandbox there is no /workspace, and programs find the folder itself.
  const shown = driver === 'none' ? shownFolder(root) : WORKSPACE_INSIDE;
  for (const folder of ['outputs', 'files', '.saved']) await mkdir(join(work, folder), { recursive: true });
  for (const name of SHOWN_FOLDERS) await symlink(join(shown, name), join(work, name)).catch(unlessThere);
  // Set the mode whatever the umask: programs may run as another user, who may traverse the parent folders, not list them.
  for (const folder of [join(root, '..'), root]) await chmod(folder, 0o711);
  for (const folder of [work, ...['outputs', 'files', '.saved'].map((name) => join(work, name))]) {
    await chmod(folder, 0o755);
    if (uid !== undefined) await chown(folder, uid, uid);
  }
}

/** True when a step of the lane has called a tool and has not ended: it may miss the files it made. */
async function isMidStep(deps: LaneDeps, runId: string, lane: string): Promise<boolean> {
  const rows = await deps.db.query({
    name: 'lane-mid-step',
    text: `SELECT 1 FROM step s JOIN call c ON c.run_id = s.run_id AND c.step = s.id AND c.item = s.item AND c.round = s.round
      WHERE s.run_id = $1 AND s.lane = $2 AND s.finished_at IS NULL AND c.kind = 'tool' AND c.acts LIMIT 1`,
    values: [runId, lane],
  });
  return rows.length > 0;
}

function unlessThere(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
}
