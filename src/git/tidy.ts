import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Repository } from './repository.js';
import { runGit } from './run-git.js';

/** Above these numbers of files, clones and pushes become slower. */
const MOST = { loose: 1_000, packs: 20 };

/**
 * Packs loose objects and small packs once there are many; returns whether it did. It keeps unreachable objects too.
 * Safe beside readers and writers, since a new pack is complete before its objects are deleted.
 */
export async function tidyRepository(
  repository: Repository,
  { most = MOST, signal }: { readonly most?: typeof MOST; readonly signal?: AbortSignal } = {},
): Promise<boolean> {
  const { loose, packs } = await countObjects(repository);
  if (loose <= most.loose && packs <= most.packs) return false;
  await runGit(repository, ['repack', '--geometric=2', '-d', '-l', '--quiet'], {
    limits: { cpuSeconds: 600 },
    ...{ signal, isGroup: true },
  });
  return true;
}

/** A cheap estimate from one of the 256 folders of loose objects, like git's own `gc --auto`. */
export async function looksUntidy({ gitdir }: Repository): Promise<boolean> {
  const names = (folder: string) => readdir(join(gitdir, 'objects', folder)).catch(() => []);
  const [loose, packs] = await Promise.all([names('17'), names('pack')]);
  return loose.length * 256 > MOST.loose || packs.filter((name) => name.endsWith('.pack')).length > MOST.packs;
}

/** The numbers of loose objects and of packs. */
export async function countObjects(
  repository: Repository,
): Promise<{ readonly loose: number; readonly packs: number }> {
  const { stdout } = await runGit(repository, ['count-objects', '-v']);
  const counts = new Map(
    stdout
      .toString('latin1')
      .split('\n')
      .map((line) => line.split(': ') as [string, string]),
  );
  return { loose: Number(counts.get('count') ?? 0), packs: Number(counts.get('packs') ?? 0) };
}
