import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Repository } from './repository.js';

/**
 * All refs of the repository on the disk, whole names, without a process of git for it. Those in files of their own are
 * read first, since packing them writes the list before it removes the files.
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
