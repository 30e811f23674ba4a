/** A fault of an archive. The message goes to the pusher. */
export class ArchiveFault extends Error {
  override readonly name = 'ArchiveFault';
}

/** Reads exact numbers of bytes from a stream of chunks, up to a total limit. */
class ByteReader {
  readonly #pieces: AsyncIterator<Uint8Array>;
  readonly #maxBytes: number;
  #held: Buffer = Buffer.alloc(0);
  #bytes = 0;

  constructor(pieces: AsyncIterable<Uint8Array>, maxBytes: number) {
    this.#pieces = pieces[Symbol.asyncIterator]();
    this.#maxBytes = maxBytes;
  }

  /** Reads exactly this number of bytes; null at the end of the stream. Throws when the stream ends in between. */
  async readExactly(count: number): Promise<Buffer | null> {
    const taken: Buffer[] = [];
    let missing = count;
    while (missing > 0) {
      if (this.#held.length === 0 && !(await this.#more())) {
        if (missing === count) return null;
        throw endsEarly();
      }
      const part = this.#held.subarray(0, missing);
      this.#held = this.#held.subarray(part.length);
      taken.push(part);
      missing -= part.length;
    }
    return taken.length === 1 && taken[0] ? taken[0] : Buffer.concat(taken);
  }

  /** Skips this number of bytes. */
  async skipBytes(count: number): Promise<void> {
    let missing = count;
    while (missing > 0) {
      if (this.#held.length === 0 && !(await this.#more())) throw endsEarly();
      const part = Math.min(missing, this.#held.length);
      this.#held = this.#held.subarray(part);
      missing -= part;
    }
  }

  /** Closes the stream at any position. */
  async close(): Promise<void> {
    await this.#pieces.return?.();
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#pieces.next();
    if (done) return false;
    this.#held = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    this.#bytes += value.byteLength;
    if (this.#bytes > this.#maxBytes)
      throw new ArchiveFault(`the archive holds more than ${Math.round(this.#maxBytes / 1_048_576)} MiB`);
    return true;
  }
}

const SPACE = 0x20;

const LINE_END = 0x0a;

const BLOCK = 512;

type TarKind = 'file' | 'folder' | 'symbolic link' | 'hard link' | 'special file';

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

interface TarLimits {
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

/** The records of a pax header, `<length> <key>=<value>\n` each (POSIX.1-2001), by key; the last of a key counts. */
function readPax(body: Buffer): ReadonlyMap<string, Buffer> {
  const records = new Map<string, Buffer>();
  let at = 0;
  while (at < body.length) {
    const space = body.indexOf(SPACE, at);
    const digits = space < 0 ? '' : body.toString('latin1', at, space);
    const end = /^[1-9]\d{0,8}$/.test(digits) ? at + Number(digits) : 0;
    const equals = body.indexOf('=', space);
    const isWhole = end > space && end <= body.length && body[end - 1] === LINE_END && equals > space && equals < end;
    if (!isWhole) throw new ArchiveFault('the archive has a pax header that cannot be read');
    records.set(body.toString('utf8', space + 1, equals), body.subarray(equals + 1, end - 1));
    at = end;
  }
  return records;
}

function endsEarly(): ArchiveFault {
  return new ArchiveFault('the archive ends early');
}

/** One header block of a tar archive: POSIX.1-1988 ustar, with GNU's binary sizes. */
interface TarHeader {
  /** The raw bytes of the name. */
  readonly name: Buffer;
  readonly size: number;
  /** True when the owner may execute it. */
  readonly executable: boolean;
  /** `0` a file, `1` a hard link, `2` a symbolic link, `5` a folder, `x` `g` pax, `L` `K` GNU's long names. */
  readonly type: string;
}

/** Null for a block of zeros, which ends the archive. Throws ArchiveFault for a wrong checksum or size. */
function readHeader(block: Buffer): TarHeader | null {
  if (block.every((byte) => byte === 0)) return null;
  if (!hasChecksum(block)) throw new ArchiveFault('the archive is not a tar: a header’s checksum is wrong');
  const isUstar = block.toString('latin1', 257, 263) === 'ustar\0';
  const name = textAt(block, 0, 100);
  const prefix = isUstar ? textAt(block, 345, 155) : Buffer.alloc(0);
  const type = String.fromCharCode(block[156] ?? 0);
  return {
    name: prefix.length === 0 ? name : Buffer.concat([prefix, Buffer.from('/'), name]),
    size: sizeAt(block, 124),
    executable: (Number.parseInt(textAt(block, 100, 8).toString('latin1'), 8) & 0o100) !== 0,
    type: type === '\0' || type === '7' ? '0' : type,
  };
}

/** The bytes of a field up to its first NUL. */
function textAt(block: Buffer, start: number, length: number): Buffer {
  const field = block.subarray(start, start + length);
  const end = field.indexOf(0);
  return Buffer.from(end < 0 ? field : field.subarray(0, end));
}

/** Octal digits, or with the first bit set a big-endian number. */
function sizeAt(block: Buffer, start: number): number {
  const field = block.subarray(start, start + 12);
  if (((field[0] ?? 0) & 0x80) !== 0) {
    const value = field.subarray(1).reduce((sum, byte) => sum * 256 + byte, (field[0] ?? 0) & 0x7f);
    if (Number.isSafeInteger(value)) return value;
    throw new ArchiveFault('the archive has an entry of an impossible size');
  }
  return octal(field, 'size');
}

/** All bytes added up, those of the checksum itself as spaces. */
function hasChecksum(block: Buffer): boolean {
  let sum = 0;
  for (const [at, byte] of block.entries()) sum += at >= 148 && at < 156 ? 0x20 : byte;
  return sum === octal(block.subarray(148, 156), 'checksum');
}

function octal(field: Buffer, what: string): number {
  const text = field
    .toString('latin1')
    .replace(/[\0 ]+$/, '')
    .replace(/^ +/, '');
  if (!/^[0-7]*$/.test(text)) throw new ArchiveFault(`the archive is not a tar: a header’s ${what} is not a number`);
  return text === '' ? 0 : Number.parseInt(text, 8);
}
