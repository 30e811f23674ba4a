import type { GitObject } from './repository.js';

/** What `git cat-file --batch` says: `<id> <type> <size>`, the bytes, and a line end, one after the other. */
export function readBatch(said: Buffer): Map<string, GitObject> {
  const objects = new Map<string, GitObject>();
  for (let at = 0; at < said.byteLength; ) {
    const end = said.indexOf(10, at);
    const [id = '', type = '', size] = said.subarray(at, end).toString('latin1').split(' ');
    if (size === undefined) throw new Error(`git has no object ${id}: ${type}`);
    at = end + 1 + Number(size) + 1;
    objects.set(id, { type, content: said.subarray(end + 1, at - 1) });
  }
  return objects;
}
