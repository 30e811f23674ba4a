import { createHash } from 'node:crypto';
import { type Folder, foldersOf, modeOf, type TreeFile } from './folders.js';

/** The id that `writeTree` would answer for these files, without a repository. */
export function treeId(files: readonly TreeFile[]): string {
  return idOf(foldersOf(files), () => undefined);
}

/** Every folder of these files, the root among them, by the id of its tree. */
export function foldersById(files: readonly TreeFile[]): Map<string, Folder> {
  const folders = new Map<string, Folder>();
  idOf(foldersOf(files), (id, folder) => folders.set(id, folder));
  return folders;
}

interface Entry {
  readonly mode: string;
  readonly name: string;
  /** What git sorts it by: a folder as if its name ended in a slash. */
  readonly sort: string;
  /** In hex. */
  readonly id: string;
}

/** A tree object as git hashes it: `<mode> <name>\0<20 bytes>` each. */
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

/** Without these the order of UTF-16 is that of the bytes of UTF-8. */
const SURROGATE = /[\ud800-\udfff]/;

function byUnits(a: Entry, b: Entry): number {
  return a.sort < b.sort ? -1 : 1;
}

function byBytes(a: Entry, b: Entry): number {
  return Buffer.compare(Buffer.from(a.sort), Buffer.from(b.sort));
}
