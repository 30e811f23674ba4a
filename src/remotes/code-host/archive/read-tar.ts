import { ArchiveFault } from './archive-fault.js';
import { ByteReader, endsEarly } from './byte-reader.js';
import { readPax } from './pax.js';
import { BLOCK, readHeader, type TarHeader } from './tar-header.js';

export type TarKind = 'file' | 'folder' | 'symbolic link' | 'hard link' | 'special file';

export interface TarEntry {
  /** As in the archive; invalid UTF-8 is replaced by U+FFFD. */
  readonly path: string;
  readonly kind: TarKind;
  /** In bytes. */
  readonly size: number;
  readonly executable: boolean;
  /** Reads its bytes. Call it at most once, before the next entry; an unread entry is skipped. */
  readonly read: () => Promise<Buffer>;
}

export interface TarLimits {
  /** The size of the unpacked archive, including skipped entries. */
  readonly maxBytes: number;
  readonly maxEntries: number;
  /** Called with the commit that `git archive` writes at the start. */
  readonly onCommit?: (commit: string) => void;
}

const KINDS: Readonly<Record<string, TarKind>> = {
  '0': 'file',
  '1': 'hard link',
  '2': 'symbolic link',
  '3': 'special file',
  '4': 'special file',
  '5': 'folder',
  '6': 'special file',
};
/** The limit for names and pax records, far above that of a workspace's path. */
const MAX_META_BYTES = 65_536;

interface Extension {
  readonly path?: Buffer | undefined;
  readonly size?: number | undefined;
}

/**
 * Streams the entries of a tar archive without extracting them. Supports ustar, pax and GNU's long names. Throws
 * ArchiveFault for other formats and for a truncated archive.
 */
export async function* readTar(pieces: AsyncIterable<Uint8Array>, limits: TarLimits): AsyncGenerator<TarEntry> {
  const reader = new ByteReader(pieces, limits.maxBytes);
  try {
    yield* entriesOf(reader, limits);
  } finally {
    await reader.close();
  }
}

async function* entriesOf(reader: ByteReader, limits: TarLimits): AsyncGenerator<TarEntry> {
  let extension: Extension = {};
  let entries = 0;
  for (let header = await nextHeader(reader); header !== null; header = await nextHeader(reader)) {
    entries += 1;
    if (entries > limits.maxEntries) throw new ArchiveFault(`the archive has more than ${limits.maxEntries} entries`);
    const meta = META[header.type];
    if (meta) {
      extension = { ...extension, ...meta(await metaBody(reader, header), limits) };
      continue;
    }
    const kind = KINDS[header.type];
    if (kind === undefined)
      throw new ArchiveFault(`the archive has an entry of an unknown type, ${JSON.stringify(header.type)}`);
    // Only files have bytes; other entries may give a size, but no bytes follow.
    const size = kind === 'file' ? (extension.size ?? header.size) : 0;
    const path = (extension.path ?? header.name).toString('utf8');
    extension = {};
    let isRead = false;
    const read = async () => {
      isRead = true;
      return bodyOf(reader, size);
    };
    yield { path, kind, size, executable: header.executable, read };
    if (!isRead) await reader.skipBytes(padded(size));
  }
}

/** Null at the archive's end. */
async function nextHeader(reader: ByteReader): Promise<TarHeader | null> {
  const block = await reader.readExactly(BLOCK);
  // A complete archive has an end mark, so one that stops between two entries is truncated.
  if (block === null) throw endsEarly();
  return readHeader(block);
}

async function bodyOf(reader: ByteReader, size: number): Promise<Buffer> {
  if (size === 0) return Buffer.alloc(0);
  const block = await reader.readExactly(padded(size));
  if (block === null) throw endsEarly();
  return block.subarray(0, size);
}

async function metaBody(reader: ByteReader, { size }: TarHeader): Promise<Buffer> {
  if (size > MAX_META_BYTES)
    throw new ArchiveFault(`the archive has a name or a header of over ${MAX_META_BYTES} bytes`);
  return bodyOf(reader, size);
}

function padded(size: number): number {
  return Math.ceil(size / BLOCK) * BLOCK;
}

/** Headers about the next entry, or about all entries. */
const META: Readonly<Record<string, (body: Buffer, limits: TarLimits) => Extension>> = {
  x: (body) => {
    const records = readPax(body);
    refuseSparse(records);
    return { path: records.get('path'), size: sizeOf(records.get('size')) };
  },
  g: (body, { onCommit }) => {
    const records = readPax(body);
    refuseSparse(records);
    const shared = ['path', 'size', 'linkpath'].find((key) => records.has(key));
    if (shared !== undefined) throw new ArchiveFault(`the archive gives all its entries one ${shared}`);
    const commit = records.get('comment')?.toString('latin1').trim();
    if (commit !== undefined && /^[0-9a-f]{40}$/.test(commit)) onCommit?.(commit);
    return {};
  },
  L: (body) => ({ path: body.at(-1) === 0 ? body.subarray(0, -1) : body }),
  K: () => ({}),
};

function refuseSparse(records: ReadonlyMap<string, Buffer>): void {
  const sparse = [...records.keys()].some((key) => key.startsWith('GNU.sparse.'));
  if (sparse) throw new ArchiveFault('the archive has a sparse file: pack it without holes');
}

function sizeOf(value: Buffer | undefined): number | undefined {
  if (value === undefined) return undefined;
  const text = value.toString('latin1');
  if (!/^\d{1,15}$/.test(text)) throw new ArchiveFault('the archive has an entry of an impossible size');
  return Number(text);
}
