import type { FileBody } from '../contract/files.js';
import { Refusal } from '../shared/refusal.js';
import { textBytes } from '../shared/text-bytes.js';
import { oneValue } from './one-value.js';

/** Enough for a tree of 16 MiB in base64 and its JSON. */
export const MAX_TREE_BODY_BYTES = 32 * 1024 * 1024;

export function toSourceFiles(files: readonly FileBody[]): { path: string; content: Uint8Array }[] {
  return files.map((file, index) => ({ path: file.path, content: toBytes(file, `body.files.${index}`) }));
}

/** A file's bytes, from exactly one of `content` and `contentBase64`. */
export function toBytes({ content, contentBase64 }: Omit<FileBody, 'path'>, where: string): Uint8Array {
  if (content !== undefined && contentBase64 === undefined) return textBytes(content, `${where}.content:`);
  if (contentBase64 !== undefined && content === undefined) return new Uint8Array(Buffer.from(contentBase64, 'base64'));
  throw new Refusal(
    'refused',
    `${where}: give the file as content (text) or as contentBase64 (bytes), one of the two`,
    {
      code: 'invalid',
    },
  );
}

/** The path of a write, from the query, the body, or the same in both. */
export function onePath(asked: string | undefined, sent: string | undefined): string {
  const path = oneValue('path', asked, sent);
  if (path === undefined) throw new Refusal('refused', 'body.path: say which file to write', { code: 'invalid' });
  return path;
}
