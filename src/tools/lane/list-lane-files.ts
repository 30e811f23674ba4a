import type { Dirent, Stats } from 'node:fs';
import { constants, open, readdir } from 'node:fs/promises';
import { pathFault } from '../../shared/path-fault.js';
import { type Folder, openFolder } from './folder-handle.js';
import { isAbsent } from './lane-files.js';

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
const MAX_FILES = 5_000;
const MAX_DEPTH = 24;
/** The maximum of ignored files that are listed by name. */
const MAX_NAMED = 100;

export interface LaneListing {
  readonly files: readonly { readonly path: string; readonly stat: Stats }[];
  /** Entries that are never opened, and why. */
  readonly ignored: readonly { readonly path: string; readonly why: string }[];
}

class Found {
  readonly files: { path: string; stat: Stats }[] = [];
  readonly ignored: { path: string; why: string }[] = [];
  full = false;

  /** A program may leave a hundred thousand pipes, and each would be a line of the log. */
  ignore(path: string, why: string): void {
    if (this.ignored.length < MAX_NAMED) this.ignored.push({ path, why });
    else if (this.ignored.length === MAX_NAMED) this.ignored.push({ path, why: `${why}; others are not named` });
  }

  stop(path: string): void {
    this.full = true;
    this.ignored.push({ path, why: `there are more than ${MAX_FILES} files: this one and what follows is left` });
  }
}

/** The regular files below folders of a lane's work folder. Links, pipes, devices and sockets are only reported. */
export async function listLaneFiles(work: string, folders: readonly string[]): Promise<LaneListing> {
  const found = new Found();
  const root = await openFolder(work).catch(unlessAbsent);
  if (root === null) return found;
  try {
    for (const name of folders) await enter(root, { name, path: name, depth: 0 }, found);
  } finally {
    await root.close();
  }
  return found;
}

interface Place {
  readonly name: string;
  readonly path: string;
  readonly depth: number;
}

async function enter(parent: Folder, { name, path, depth }: Place, found: Found): Promise<void> {
  if (depth > MAX_DEPTH) {
    found.ignore(path, `folders are more than ${MAX_DEPTH} deep`);
    return;
  }
  const folder = await openFolder(parent.at(name)).catch(unlessAbsent);
  if (folder === null) return;
  try {
    const entries = await readdir(folder.at('.'), { withFileTypes: true });
    for (const entry of entries) {
      if (found.full) break;
      await visit(folder, entry, { name: entry.name, path: `${path}/${entry.name}`, depth }, found);
    }
  } finally {
    await folder.close();
  }
}

async function visit(folder: Folder, entry: Dirent, place: Place, found: Found): Promise<void> {
  const { path, depth } = place;
  const fault = pathFault(path);
  if (fault !== null) found.ignore(JSON.stringify(path), `the path ${fault}`);
  else if (entry.isDirectory()) await enter(folder, { ...place, depth: depth + 1 }, found);
  else if (!entry.isFile()) found.ignore(path, 'it is not a regular file');
  else if (found.files.length >= MAX_FILES) found.stop(path);
  else await addFile(folder, place, found);
}

async function addFile(folder: Folder, { name, path }: Place, found: Found): Promise<void> {
  const file = await open(folder.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => null);
  if (file === null) {
    found.ignore(path, 'it cannot be opened for reading');
    return;
  }
  try {
    const stat = await file.stat();
    if (stat.isFile()) found.files.push({ path, stat });
    else found.ignore(path, 'it is not a regular file');
  } finally {
    await file.close();
  }
}

function unlessAbsent(error: unknown): null {
  if (isAbsent(error) || (error as NodeJS.ErrnoException).code === 'EACCES') return null;
  throw error;
}
