import { createHash } from 'node:crypto';
import { type Folder, foldersOf, modeOf, type TreeFile } from './folders.js';

/** The id that `writeTree` would answer for these files, without a repository. */
export function treeId(files: readonly TreeFile[]): string {
  return idOf(foldersOf(files)).toString('hex');
}

/** A tree object as git hashes it: `<mode> <name>\0<20 bytes>` each, a folder sorted as if its name ended in a slash. */
function idOf(folder: Folder): Buffer {
  const entries = [
    ...[...folder.files].map(([name, file]) => ({
      ...{ mode: modeOf(file) as string, name, sort: name },
      id: Buffer.from(file.sha, 'hex'),
    })),
    ...[...folder.folders].map(([name, child]) => ({ mode: '40000', name, sort: `${name}/`, id: idOf(child) })),
  ].sort((a, b) => Buffer.compare(Buffer.from(a.sort), Buffer.from(b.sort)));
  const body = Buffer.concat(entries.flatMap(({ mode, name, id }) => [Buffer.from(`${mode} ${name}\0`), id]));
  return createHash('sha1').update(`tree ${body.byteLength}\0`).update(body).digest();
}
