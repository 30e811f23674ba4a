import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inflate } from 'node:zlib';
import { Lru } from '../shared/lru.js';
import type { Repository } from './repository.js';
import { runGit } from './run-git.js';

const unzip = promisify(inflate);
const MAX_COMMIT = 1024 * 1024;

export interface Commit {
  readonly id: string;
  readonly tree: string;
  readonly parents: readonly string[];
  readonly message: string;
}

/** Null when the repository has no such commit. */
export async function readCommit(repository: Repository, id: string): Promise<Commit | null> {
  const known = repository.objects?.get(id);
  if (known) return known.type === 'commit' ? parseCommit(id, known.content.toString('utf8')) : null;
  const text = (await readLoose(repository, id)) ?? (await readByGit(repository, id));
  return text === null ? null : parseCommit(id, text);
}

/** Commits that were found in packs, with the state of the pack folder before the lookup. */
const seen = new Lru<string, string>(1_000);

/** Whether the repository has this commit. A packed one is looked up again once the packs have changed. */
export async function hasCommit(repository: Repository, id: string): Promise<boolean> {
  if ((await readLoose(repository, id)) !== null) return true;
  const key = `${repository.gitdir} ${id}`;
  const packs = await stateOfPacks(repository);
  if (packs !== '' && seen.get(key) === packs) return true;
  if ((await readByGit(repository, id)) === null) return false;
  seen.set(key, packs);
  return true;
}

async function stateOfPacks({ gitdir }: Repository): Promise<string> {
  const found = await stat(join(gitdir, 'objects', 'pack'), { bigint: true }).catch(() => null);
  return found ? `${found.ino} ${found.mtimeNs}` : '';
}

/** Commits that the service writes are loose objects, which need no git process. */
async function readLoose({ gitdir }: Repository, id: string): Promise<string | null> {
  try {
    const object = await readFile(join(gitdir, 'objects', id.slice(0, 2), id.slice(2)));
    const whole = await unzip(object, { maxOutputLength: MAX_COMMIT });
    const end = whole.indexOf(0);
    return whole.subarray(0, 7).toString() === 'commit ' ? whole.subarray(end + 1).toString('utf8') : null;
  } catch {
    return null;
  }
}

async function readByGit(repository: Repository, id: string): Promise<string | null> {
  const { stdout, cut } = await runGit(repository, ['cat-file', '--batch'], {
    input: `${id}\n`,
    maxBytes: MAX_COMMIT + 100,
  });
  const end = stdout.indexOf(10);
  const [, type] = stdout.subarray(0, end).toString().split(' ');
  return cut || type !== 'commit' ? null : stdout.subarray(end + 1, -1).toString('utf8');
}

export function parseCommit(id: string, text: string): Commit {
  const blank = text.indexOf('\n\n');
  const head = (blank < 0 ? text : text.slice(0, blank)).split('\n');
  const values = (name: string) =>
    head.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));
  return {
    id,
    tree: values('tree')[0] ?? '',
    parents: values('parent'),
    message: blank < 0 ? '' : text.slice(blank + 2),
  };
}
