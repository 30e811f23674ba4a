import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Errors, resolveRef, writeRef } from 'isomorphic-git';
import { runCompare } from './compare.js';
import { gitFs } from './git-fs.js';
import type { Repository } from './repository.js';
import { runGit } from './run-git.js';

export const MAIN = 'refs/heads/main';

/** The commit of a ref; null when the ref does not exist. */
export async function readRef(repository: Repository, ref: string): Promise<string | null> {
  try {
    return await resolveRef({ fs: gitFs, gitdir: repository.gitdir, ref });
  } catch (error) {
    if (error instanceof Errors.NotFoundError) return null;
    throw error;
  }
}

/** Points a ref at a commit, wherever it pointed before. The caller decides whether and when it may move. */
export async function moveRef(repository: Repository, ref: string, commit: string): Promise<void> {
  await writeRef({ fs: gitFs, gitdir: repository.gitdir, ref, value: commit, force: true });
}

/**
 * Makes the refs on disk exactly these, in one transaction. The objects must exist. Git cannot replace `a` by `a/b` in
 * one transaction, so the deletions then come first, in one of their own.
 */
export async function setRefs(repository: Repository, wanted: ReadonlyMap<string, string>): Promise<void> {
  const found = await listRefs(repository);
  const gone = [...found.keys()].filter((name) => !wanted.has(name));
  const moved = [...wanted].filter(([name, oid]) => found.get(name) !== oid);
  const deletions = gone.map((name) => `delete ${name}\0\0`);
  const updates = moved.map(([name, oid]) => `update ${name}\0${oid}\0\0`);
  const names = moved.map(([name]) => name);
  const steps =
    isInTheWay(gone, names) || isInTheWay(names, gone) ? [deletions, updates] : [[...deletions, ...updates]];
  for (const lines of steps) if (lines.length > 0) await updateRefs(repository, lines);
}

/** True when one of `names` is a folder of one of `others`. */
function isInTheWay(names: readonly string[], others: readonly string[]): boolean {
  const all = new Set(names);
  return others.some((other) => {
    const parts = other.split('/');
    return parts.some((_part, at) => at > 0 && all.has(parts.slice(0, at).join('/')));
  });
}

/** Deletes a ref. */
export async function removeRef(repository: Repository, ref: string): Promise<void> {
  await updateRefs(repository, [`delete ${ref}\0\0`]);
}

async function updateRefs(repository: Repository, lines: readonly string[]): Promise<void> {
  await runGit(repository, ['update-ref', '--no-deref', '-z', '--stdin'], { input: lines.join('') });
}

/** Which of these ids the repository has, as an object of any type. */
export async function knownObjects(repository: Repository, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const { stdout } = await runGit(repository, ['cat-file', '--batch-check=%(objectname)'], {
    input: ids.map((id) => `${id}\n`).join(''),
  });
  return new Set(
    stdout
      .toString('latin1')
      .split('\n')
      .filter((line) => /^[0-9a-f]{40}$/.test(line)),
  );
}

/** True when `ancestor` is `commit` or one of its ancestors. Both must exist. */
export async function isAncestor(repository: Repository, ancestor: string, commit: string): Promise<boolean> {
  const args = ['merge-base', '--is-ancestor', '--end-of-options', ancestor, commit];
  return (await runCompare(repository, args, { accept: [0, 1] })).code === 0;
}

/**
 * All refs of the repository on disk, by full name, without a git process. Loose refs are read first, since git writes
 * the packed list before it deletes the loose files.
 */
export async function listRefs({ gitdir }: Repository): Promise<Map<string, string>> {
  const loose = await readFolder(gitdir, 'refs');
  const packed = await readPacked(gitdir);
  return new Map([...packed, ...loose]);
}

type Refs = readonly (readonly [name: string, oid: string])[];

async function readFolder(gitdir: string, name: string): Promise<Refs> {
  const entries = await readdir(join(gitdir, name), { withFileTypes: true }).catch(none<never[]>([]));
  const parts = await Promise.all(
    entries.map(async (entry): Promise<Refs> => {
      const path = `${name}/${entry.name}`;
      if (entry.isDirectory()) return readFolder(gitdir, path);
      if (entry.name.endsWith('.lock')) return [];
      const text = await readFile(join(gitdir, path), 'latin1').catch(none(null));
      return text === null ? [] : [[path, text.trim()]];
    }),
  );
  return parts.flat();
}

/** `<id> <name>` per line; the target of an annotated tag follows on a line with `^` (gitrepository-layout, `packed-refs`). */
async function readPacked(gitdir: string): Promise<Refs> {
  const text = await readFile(join(gitdir, 'packed-refs'), 'utf8').catch(none(''));
  return text
    .split('\n')
    .filter((line) => /^[0-9a-f]{40} /.test(line))
    .map((line) => [line.slice(41), line.slice(0, 40)]);
}

/** A file that another process has removed in the meantime counts as missing. */
function none<T>(value: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return value;
    throw error;
  };
}
