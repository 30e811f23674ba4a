import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Deps } from '../deps.js';
import { sweepQuarantine, tidyRepository } from '../git/index.js';
import { eachByItself } from '../shared/each-by-itself.js';
import { sweepPacks } from '../workspaces/index.js';

const HOUR_MS = 3_600_000;
/** Longer than a push, a repository's making or a merge may take. */
const OLD_MS = 1_800_000;

/** Removes what processes that died left of pushes, and packs what many writes left: now and each hour. Answers how to end it. */
export function startGitSweep(deps: Pick<Deps, 'config' | 'db' | 'blobs' | 'log'>): () => void {
  const sweep = (): void => {
    sweepGit(deps).catch((err: unknown) => deps.log.warn({ err }, 'what pushes left was not removed'));
  };
  const timer = setInterval(sweep, HOUR_MS);
  timer.unref();
  sweep();
  return () => clearInterval(timer);
}

export async function sweepGit(deps: Pick<Deps, 'config' | 'db' | 'blobs'>, olderThanMs = OLD_MS): Promise<void> {
  await sweepPacks(deps);
  const root = join(deps.config.dataDir, 'git');
  await eachByItself(await readdir(root).catch(() => []), async (name) => {
    const folder = join(root, name);
    if (name.endsWith('.git')) {
      await sweepQuarantine({ gitdir: folder }, olderThanMs);
      await tidyRepository({ gitdir: folder });
    } else if (name.startsWith('.new-') && (await ageOf(folder)) > olderThanMs)
      await rm(folder, { recursive: true, force: true });
  });
}

async function ageOf(folder: string): Promise<number> {
  const found = await stat(folder).catch(() => null);
  return found ? Date.now() - found.mtimeMs : 0;
}
