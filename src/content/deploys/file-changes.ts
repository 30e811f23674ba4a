import type { FileChangeBody } from '../../contract/history.js';
import { diffText } from '../../shared/line-diff.js';
import { decodeUtf8 } from '../../shared/utf8.js';

export interface FileShas {
  readonly path: string;
  /** Its blob; null when the file did not exist. */
  readonly before: string | null;
  readonly after: string | null;
}

/** Reads the sizes and the bytes of blobs. */
export interface BlobSource {
  readonly sizes: (shas: readonly string[]) => Promise<ReadonlyMap<string, number>>;
  readonly read: (shas: readonly string[]) => Promise<ReadonlyMap<string, Uint8Array>>;
}

/** The limits of one answer: bytes of text, before and after together, and lines of diff. */
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_LINES = 20_000;

/** The files with their texts and line diffs, up to the limits of one answer. Further files are marked `truncated`. */
export async function readFileChanges(files: readonly FileShas[], blobs: BlobSource): Promise<FileChangeBody[]> {
  const fitting = await fittingFiles(files, blobs);
  const contents = await blobs.read([...new Set(fitting.flatMap(shasOf))]);
  const carried = new Set(fitting);
  const changes: FileChangeBody[] = [];
  let lines = 0;
  for (const file of files) {
    const change =
      carried.has(file) && lines <= MAX_LINES
        ? await readFile(file, contents)
        : { path: file.path, ...NOTHING, truncated: true };
    lines += change.diff.length;
    changes.push(change);
  }
  return changes;
}

async function readFile(file: FileShas, blobs: ReadonlyMap<string, Uint8Array>): Promise<FileChangeBody> {
  const before = decode(file.before, blobs);
  const after = decode(file.after, blobs);
  if (before === BINARY || after === BINARY) return { path: file.path, ...NOTHING, binary: true };
  return { path: file.path, ...NOTHING, before, after, diff: await diffText(before ?? '', after ?? '') };
}

const NOTHING = { before: null, after: null, diff: [], binary: false, truncated: false } as const;
const BINARY = Symbol('binary');

/** The first files whose bytes fit into one answer. */
async function fittingFiles(files: readonly FileShas[], { sizes }: BlobSource): Promise<FileShas[]> {
  const found = await sizes([...new Set(files.flatMap(shasOf))]);
  let total = 0;
  return files.filter((file) => {
    for (const sha of shasOf(file)) total += found.get(sha) ?? 0;
    return total <= MAX_BYTES;
  });
}

function shasOf({ before, after }: FileShas): string[] {
  return [before, after].filter((sha) => sha !== null);
}

function decode(sha: string | null, blobs: ReadonlyMap<string, Uint8Array>): string | null | typeof BINARY {
  if (sha === null) return null;
  const text = decodeUtf8(blobs.get(sha) ?? new Uint8Array());
  return text === null || text.includes('\0') ? BINARY : text;
}
