import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inflate } from 'node:zlib';
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
  const text = (await readLoose(repository, id)) ?? (await readByGit(repository, id));
  return text === null ? null : parseCommit(id, text);
}

/** A commit that we wrote ourselves lies in a file of its own: no process is needed for it. */
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

function parseCommit(id: string, text: string): Commit {
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
