import { promisify } from 'node:util';
import { deflate } from 'node:zlib';
import { writeObject, writeTree as writeTreeObject } from 'isomorphic-git';
import { forEachParallel } from '../shared/for-each-parallel.js';
import { blobId } from './blob-id.js';
import { type Folder, foldersOf, modeOf, type TreeFile } from './folders.js';
import { gitFs } from './git-fs.js';
import type { Repository } from './repository.js';

const PARALLEL = 8;
const zip = promisify(deflate);

/** Writes blobs that the repository may not have. An object that is there is left alone. */
export async function writeBlobs(repository: Repository, contents: readonly Uint8Array[]): Promise<void> {
  await forEachParallel(contents, PARALLEL, (content) => writeBlobObject(repository, content));
}

/** Deflated here: by the web streams that isomorphic-git uses it takes three times as long. */
async function writeBlobObject(repository: Repository, content: Uint8Array): Promise<void> {
  const object = await zip(Buffer.concat([Buffer.from(`blob ${content.byteLength}\0`), content]));
  await writeObject({ fs: gitFs, gitdir: repository.gitdir, oid: blobId(content), format: 'deflated', object });
}

/** Writes the tree objects of these files, whose blobs are there, and answers the root's id. */
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
