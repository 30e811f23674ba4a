import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { deflate } from 'node:zlib';
import { writeObject, writeTree as writeTreeObject } from 'isomorphic-git';
import { forEachParallel } from '../shared/for-each-parallel.js';
import { type Folder, foldersOf, modeOf, type TreeFile } from './folders.js';
import { gitFs } from './git-fs.js';
import type { Repository } from './repository.js';

const PARALLEL = 8;

const zip = promisify(deflate);

/** Writes blobs. Objects that exist are left alone. */
export async function writeBlobs(repository: Repository, contents: readonly Uint8Array[]): Promise<void> {
  await forEachParallel(contents, PARALLEL, (content) => writeBlobObject(repository, content));
}

/** Deflates with zlib: the web streams of isomorphic-git take three times as long. */
async function writeBlobObject(repository: Repository, content: Uint8Array): Promise<void> {
  const object = await zip(Buffer.concat([Buffer.from(`blob ${content.byteLength}\0`), content]));
  await writeObject({ fs: gitFs, gitdir: repository.gitdir, oid: blobId(content), format: 'deflated', object });
}

/** Writes the tree objects of these files, whose blobs must exist, and returns the root's id. */
export async function writeTree(repository: Repository, files: readonly TreeFile[]): Promise<string> {
  return writeFolder(repository, foldersOf(files));
}

async function writeFolder(repository: Repository, folder: Folder): Promise<string> {
  const tree: { mode: string; path: string; oid: string; type: 'blob' | 'tree' }[] = [];
  for (const [path, file] of folder.files) tree.push({ mode: modeOf(file), path, oid: file.sha, type: 'blob' });
  for (const [path, child] of folder.folders) {
    tree.push({ mode: '040000', path, oid: await writeFolder(repository, child), type: 'tree' });
  }
  return writeTreeObject({ fs: gitFs, gitdir: repository.gitdir, tree });
}

/** Without surrogates, the order of UTF-16 units equals the order of UTF-8 bytes. */
const SURROGATE = /[\ud800-\udfff]/;

/** The id that `writeTree` would return for these files, without a repository. */
export function treeId(files: readonly TreeFile[]): string {
  return idOf(foldersOf(files), () => undefined);
}

/** Every folder of these files, including the root, by the id of its tree. */
export function foldersById(files: readonly TreeFile[]): Map<string, Folder> {
  const folders = new Map<string, Folder>();
  idOf(foldersOf(files), (id, folder) => folders.set(id, folder));
  return folders;
}

interface Entry {
  readonly mode: string;
  readonly name: string;
  /** git's sort key: a folder sorts as if its name ended in a slash. */
  readonly sort: string;
  /** In hex. */
  readonly id: string;
}

/** The id of a tree object as git hashes it, with `<mode> <name>\0<20 bytes>` per entry. */
function idOf(folder: Folder, onFolder: (id: string, folder: Folder) => void): string {
  const entries: Entry[] = [];
  for (const [name, file] of folder.files) entries.push({ mode: modeOf(file), name, sort: name, id: file.sha });
  for (const [name, child] of folder.folders)
    entries.push({ mode: '40000', name, sort: `${name}/`, id: idOf(child, onFolder) });
  entries.sort(entries.some(({ sort }) => SURROGATE.test(sort)) ? byBytes : byUnits);
  const heads = entries.map(({ mode, name }) => `${mode} ${name}\0`);
  const body = Buffer.allocUnsafe(heads.reduce((sum, head) => sum + Buffer.byteLength(head) + 20, 0));
  let at = 0;
  entries.forEach(({ id }, index) => {
    at += body.write(heads[index] ?? '', at);
    at += body.write(id, at, 'hex');
  });
  const id = createHash('sha1').update(`tree ${body.byteLength}\0`).update(body).digest('hex');
  onFolder(id, folder);
  return id;
}

function byUnits(a: Entry, b: Entry): number {
  return a.sort < b.sort ? -1 : 1;
}

function byBytes(a: Entry, b: Entry): number {
  return Buffer.compare(Buffer.from(a.sort), Buffer.from(b.sort));
}

/** The git object id of a blob: SHA-1 of `blob <length>\0<bytes>`, in hex. The `sha` of every source file. */
export function blobId(content: Uint8Array): string {
  return createHash('sha1').update(`blob ${content.byteLength}\0`).update(content).digest('hex');
}
