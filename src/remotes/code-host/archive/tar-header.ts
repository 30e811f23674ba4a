import { ArchiveFault } from './archive-fault.js';

export const BLOCK = 512;

/** One header block of a tar archive: POSIX.1-1988 ustar, with GNU's binary sizes. */
export interface TarHeader {
  /** The raw bytes of the name. */
  readonly name: Buffer;
  readonly size: number;
  /** True when the owner may execute it. */
  readonly executable: boolean;
  /** `0` a file, `1` a hard link, `2` a symbolic link, `5` a folder, `x` `g` pax, `L` `K` GNU's long names. */
  readonly type: string;
}

/** Null for a block of zeros, which ends the archive. Throws ArchiveFault for a wrong checksum or size. */
export function readHeader(block: Buffer): TarHeader | null {
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
