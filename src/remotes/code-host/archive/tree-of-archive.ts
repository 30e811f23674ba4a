import { PassThrough, pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { SourceFile } from '../../../format/model.js';
import { pathFault } from '../../../shared/path-fault.js';
import { ArchiveFault, readTar, type TarEntry } from './read-tar.js';

export interface ArchiveLimits {
  /** The size of the whole archive, unpacked. */
  readonly maxBytes: number;
  readonly maxEntries: number;
  /** The number of files below `dir`. */
  readonly maxFiles: number;
  readonly maxFileBytes: number;
}

export interface ArchiveWish {
  /** The folder of the repository to read, such as `ops/desk`; empty for all of it. */
  readonly dir: string;
  /** The requested commit, a full hash. */
  readonly commit: string;
  readonly limits: ArchiveLimits;
}

export interface ArchivedTree {
  readonly files: readonly SourceFile[];
  /** The executable paths. */
  readonly executable: ReadonlySet<string>;
}

/**
 * The files of a repository's archive (tar, usually gzipped, everything in one folder), read as a stream without files
 * on disk. Throws ArchiveFault for links, invalid paths and exceeded limits. Outside of `dir` it reads only the names.
 */
export async function treeOfArchive(
  packed: ReadableStream<Uint8Array>,
  { dir, commit, limits }: ArchiveWish,
): Promise<ArchivedTree> {
  const files: SourceFile[] = [];
  const executable = new Set<string>();
  let top: string | undefined;
  let bytes = 0;
  const onCommit = (found: string) => {
    if (found !== commit) throw new ArchiveFault(`the archive is of ${found}, and ${commit} was asked for`);
  };
  for await (const entry of readTar(unpacked(packed), { ...limits, onCommit })) {
    const [first = '', ...below] = entry.path.split('/');
    top ??= first;
    if (first !== top || first === '' || isDots(first))
      throw new ArchiveFault('the archive is not of one folder, as those of code hosts are');
    const path = within(dir, below.join('/'));
    if (path === null || entry.kind === 'folder') continue;
    requireFile(path, entry);
    bytes += entry.size;
    if (bytes > limits.maxFileBytes || files.length === limits.maxFiles) throw tooMuch(dir, limits);
    files.push({ path, content: await entry.read() });
    if (entry.executable) executable.add(path);
  }
  if (files.length === 0)
    throw new ArchiveFault(dir === '' ? 'the archive has no files' : `the commit has no files in ${dir}/`);
  return { files, executable };
}

function isDots(part: string): boolean {
  return part === '.' || part === '..';
}

/** The path below the folder; null for a path outside of it. Paths are not resolved, so `..` has no effect. */
function within(dir: string, path: string): string | null {
  if (dir === '') return path === '' ? null : path;
  return path.startsWith(`${dir}/`) && path.length > dir.length + 1 ? path.slice(dir.length + 1) : null;
}

function requireFile(path: string, { kind }: TarEntry): void {
  const fault = path.includes('\uFFFD') ? 'is not in UTF-8' : pathFault(path);
  if (fault !== null) throw new ArchiveFault(`a path of the archive ${fault}: ${JSON.stringify(path.slice(0, 200))}`);
  if (kind !== 'file') throw new ArchiveFault(`${path} is a ${kind}: a workspace holds files only`);
}

function tooMuch(dir: string, { maxFiles, maxFileBytes }: ArchiveLimits): ArchiveFault {
  const where = dir === '' ? 'the repository' : dir;
  return new ArchiveFault(
    `${where} holds more than ${maxFiles} files or ${Math.round(maxFileBytes / 1_048_576)} MiB: name a folder with ?dir=`,
  );
}

/** Unpacks one layer of gzip, if there is any: some hosts send a plain tar. */
function unpacked(packed: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> {
  const source = Readable.fromWeb(packed as Parameters<typeof Readable.fromWeb>[0]);
  return {
    [Symbol.asyncIterator]: async function* () {
      const pieces = source[Symbol.asyncIterator]();
      try {
        const head = await firstBytes(pieces);
        const whole = Readable.from(rejoined(head, pieces));
        if (head[0] !== 0x1f || head[1] !== 0x8b) return yield* whole;
        const out = new PassThrough();
        pipeline(whole, createGunzip(), out, () => undefined);
        yield* out;
      } finally {
        source.destroy();
      }
    },
  };
}

async function firstBytes(pieces: AsyncIterator<Uint8Array>): Promise<Buffer> {
  let head = Buffer.alloc(0);
  while (head.length < 2) {
    const { done, value } = await pieces.next();
    if (done) return head;
    head = Buffer.concat([head, value]);
  }
  return head;
}

async function* rejoined(head: Buffer, pieces: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (head.length > 0) yield head;
  for (let next = await pieces.next(); !next.done; next = await pieces.next()) yield next.value;
}
