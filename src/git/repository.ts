import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { init } from 'isomorphic-git';
import { gitFs } from './git-fs.js';

/** How often a repository is moved back whose name others take and leave at the same time. */
const MOVE_TRIES = 50;

/** A bare repository on disk, readable by the real git. */
export interface Repository {
  readonly gitdir: string;
  /** Extra environment for git: where it looks for objects. */
  readonly env?: Readonly<Record<string, string>>;
  /** Objects in memory, by id, which are read without a git process. */
  readonly objects?: ReadonlyMap<string, GitObject>;
}

export interface GitObject {
  readonly type: string;
  readonly content: Buffer;
}

export function repositoryFolder(dataDir: string, workspaceId: string): string {
  return join(dataDir, 'git', `${workspaceId}.git`);
}

/** The workspace's repository, created when it is missing. */
export async function openRepository(dataDir: string, workspaceId: string): Promise<Repository> {
  const gitdir = repositoryFolder(dataDir, workspaceId);
  if (!(await isRepository(gitdir))) await create(dataDir, gitdir);
  return { gitdir };
}

/** Renames the repository before deleting it, so that a partly deleted one is never found under its name. */
export async function removeRepository(dataDir: string, workspaceId: string): Promise<void> {
  const aside = await moveAside(dataDir, repositoryFolder(dataDir, workspaceId));
  if (aside !== null) await rm(aside, { recursive: true, force: true });
}

/**
 * Creates the repository in a temporary folder and renames it, so that neither a crash nor a concurrent creation leaves
 * a partial one.
 */
async function create(dataDir: string, gitdir: string): Promise<void> {
  const parent = join(dataDir, 'git');
  await mkdir(parent, { recursive: true, mode: 0o700 });
  const draft = await mkdtemp(join(parent, '.new-'));
  try {
    await init({ fs: gitFs, dir: draft, gitdir: draft, bare: true, defaultBranch: 'main' });
    await rename(draft, gitdir).catch(async (error: unknown) => {
      if (await isRepository(gitdir)) throw error;
      await clearRemains(dataDir, gitdir);
      await rename(draft, gitdir);
    });
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (!(await isRepository(gitdir))) throw error;
  }
}

/** Writers that are still active after a removal leave folders under the name, which are not a repository for git. */
async function clearRemains(dataDir: string, gitdir: string): Promise<void> {
  const aside = await moveAside(dataDir, gitdir);
  if (aside === null) return;
  // Another process may have created a new repository just before.
  if ((await isRepository(aside)) && (await moveBack(aside, gitdir))) return;
  await rm(aside, { recursive: true, force: true });
}

/**
 * Moves a repository back to its name; false when another one has the name by now. A process that does the same at once
 * moves that one aside for a moment, so a failed rename is repeated.
 */
async function moveBack(aside: string, gitdir: string): Promise<boolean> {
  for (let tries = 1; ; tries += 1) {
    try {
      await rename(aside, gitdir);
      return true;
    } catch (error) {
      if (await isRepository(gitdir)) return false;
      if (tries >= MOVE_TRIES) throw error;
    }
  }
}

/** Renames the folder and returns its new path; null when it does not exist. */
async function moveAside(dataDir: string, gitdir: string): Promise<string | null> {
  const aside = join(dataDir, 'git', `.old-${randomBytes(8).toString('hex')}`);
  try {
    await rename(gitdir, aside);
    return aside;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/**
 * Like git, recognizes a repository by its HEAD, which exists from the start. A disk error is thrown, not read as
 * absence.
 */
async function isRepository(gitdir: string): Promise<boolean> {
  try {
    return (await stat(join(gitdir, 'HEAD'))).isFile();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
