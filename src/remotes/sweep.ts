import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { findGone, sweepPacks } from '../content/index.js';
import type { Deps } from '../deps.js';
import { looksUntidy, removeRepository, sweepQuarantine, tidyRepository } from '../git/index.js';
import { forEachIndependently } from '../shared/for-each-independently.js';
import { type Loops, startLoops } from '../shared/repeat.js';
import { repeatPending } from './pending/pending-rows.js';

const HOUR_MS = 3_600_000;
/** Often, since a thousand edits in a row make clones slow. */
const MINUTE_MS = 60_000;
/** Longer than a push, the creation of a repository or a merge may take. */
const OLD_MS = 1_800_000;

/**
 * Removes leftovers of dead processes, now and each hour, and packs repositories with many loose objects, each minute.
 * Closing it also ends a running git.
 */
export function startGitSweep(deps: Pick<Deps, 'config' | 'db' | 'blobs' | 'log'>): Loops {
  return startLoops(deps.log, [
    {
      name: 'leftovers of pushes',
      everyMs: HOUR_MS,
      beginsNow: true,
      work: (signal) => sweepGit(deps, { signal }),
    },
    {
      name: 'packing of repositories',
      everyMs: MINUTE_MS,
      work: (signal) => tidyAll(deps.config.dataDir, signal),
    },
  ]);
}

/** Packs the repositories with many loose objects or packs. */
export async function tidyAll(dataDir: string, signal?: AbortSignal): Promise<void> {
  const root = join(dataDir, 'git');
  const names = await readdir(root).catch(() => []);
  await forEachIndependently(names, async (name) => {
    const repository = { gitdir: join(root, name) };
    if (signal?.aborted || idOf(name) === null || !(await looksUntidy(repository))) return;
    await tidyRepository(repository, { ...(signal && { signal }) });
  });
}

export interface GitSweep {
  readonly madeBefore?: Date;
  readonly signal?: AbortSignal;
}

/** Removes leftovers that were created before `madeBefore`, which no process can still use. */
export async function sweepGit(
  deps: Pick<Deps, 'config' | 'db' | 'blobs'>,
  { madeBefore = new Date(Date.now() - OLD_MS), signal }: GitSweep = {},
): Promise<void> {
  await repeatPending(deps.db);
  await sweepPacks(deps, signal);
  const root = join(deps.config.dataDir, 'git');
  const names = await readdir(root).catch(() => []);
  const gone = await findGone(
    deps.db,
    names.map(idOf).filter((id) => id !== null),
  );
  await forEachIndependently(names, async (name) => {
    if (signal?.aborted) return;
    const folder = join(root, name);
    const id = idOf(name);
    if (id !== null && gone.has(id)) {
      // Only old folders: the rows of a new workspace may not be committed yet.
      if (await isOlder(folder, madeBefore)) await removeRepository(deps.config.dataDir, id);
    } else if (id !== null) {
      await sweepQuarantine({ gitdir: folder }, madeBefore);
    } else if (/^\.(new|old)-/.test(name) && (await isOlder(folder, madeBefore)))
      await rm(folder, { recursive: true, force: true });
  });
}

/** The id of the folder's workspace or library; null when the folder is not a repository. */
function idOf(name: string): string | null {
  return name.endsWith('.git') ? name.slice(0, -'.git'.length) : null;
}

async function isOlder(folder: string, date: Date): Promise<boolean> {
  const found = await stat(folder).catch(() => null);
  return found !== null && found.mtimeMs < date.getTime();
}
