import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { init } from 'isomorphic-git';
import { gitFs } from './git-fs.js';

/** A bare repository on disk, readable by the real git. */
export interface Repository {
  readonly gitdir: string;
  /** What git is told besides: where it looks for objects. */
  readonly env?: Readonly<Record<string, string>>;
  /** Objects that were read already, by their ids: what of them is asked for needs no process of git. */
  readonly objects?: ReadonlyMap<string, GitObject>;
}

export interface GitObject {
  readonly type: string;
  readonly content: Buffer;
}

export function repositoryFolder(dataDir: string, workspaceId: string): string {
  return join(dataDir, 'git', `${workspaceId}.git`);
}

/** The workspace's repository; made when it is not there. */
export async function openRepository(dataDir: string, workspaceId: string): Promise<Repository> {
  const gitdir = repositoryFolder(dataDir, workspaceId);
  if (!(await isFolder(gitdir))) await create(dataDir, gitdir);
  return { gitdir };
}

export async function removeRepository(dataDir: string, workspaceId: string): Promise<void> {
  await rm(repositoryFolder(dataDir, workspaceId), { recursive: true, force: true });
}

/** Built aside and renamed, so that a crash or a twin never leaves half a repository under the name. */
async function create(dataDir: string, gitdir: string): Promise<void> {
  const parent = join(dataDir, 'git');
  await mkdir(parent, { recursive: true, mode: 0o700 });
  const draft = await mkdtemp(join(parent, '.new-'));
  try {
    await init({ fs: gitFs, dir: draft, gitdir: draft, bare: true, defaultBranch: 'main' });
    await rename(draft, gitdir);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (!(await isFolder(gitdir))) throw error;
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
