import { gzipSync } from 'node:zlib';

export interface TarPart {
  readonly path: string;
  readonly content?: string | Uint8Array;
  /** `0` a file (the default), `5` a folder, `1` `2` links, `x` `g` `L` headers. */
  readonly type?: string;
  readonly link?: string;
  /** What the header says, where that is not the truth. */
  readonly size?: number | string;
  readonly prefix?: string;
  /** `0000644` when left out. */
  readonly mode?: string;
  readonly magic?: string;
}

/** A tar of these parts, as strange as they are; made by hand, since no program makes hostile ones. */
export function tarOf(parts: readonly TarPart[], { end = true }: { readonly end?: boolean } = {}): Buffer {
  const blocks = parts.flatMap((part) => {
    const content = Buffer.from(part.content ?? '');
    return [headerOf(part, content.length), content, Buffer.alloc((512 - (content.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(end ? 1_024 : 0)]);
}

export function gzippedTar(parts: readonly TarPart[]): Buffer {
  return gzipSync(tarOf(parts));
}

function headerOf(
  { path, type = '0', link = '', size, prefix = '', mode = '0000644', magic = 'ustar\0' }: TarPart,
  length: number,
): Buffer {
  const header = Buffer.alloc(512);
  header.write(path, 0, 100, 'utf8');
  header.write(`${mode}\0`, 100, 8, 'latin1');
  header.write('0000000\0', 108, 'latin1');
  header.write('0000000\0', 116, 'latin1');
  header.write(
    typeof size === 'string' ? size : `${(size ?? length).toString(8).padStart(11, '0')}\0`,
    124,
    12,
    'latin1',
  );
  header.write('00000000000\0', 136, 'latin1');
  header.write('        ', 148, 'latin1');
  header.write(type, 156, 1, 'latin1');
  header.write(link, 157, 100, 'utf8');
  header.write(`${magic}00`, 257, 8, 'latin1');
  header.write(prefix, 345, 155, 'utf8');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return header;
}

/** A pax record, its length counted right. */
export function pax(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + String(rest).length;
  if (rest + String(length).length !== length) length = rest + String(length).length;
  return `${length} ${key}=${value}\n`;
}

/** A repository's archive as code hosts make it: one folder, the commit noted at the beginning, what begins with `#!` a program. */
export function archiveOf(files: Readonly<Record<string, string>>, { top = 'desk-0000000', commit = '' } = {}): Buffer {
  const noted = commit === '' ? [] : [{ path: 'pax_global_header', type: 'g', content: pax('comment', commit) }];
  const folder = { path: `${top}/`, type: '5' };
  const parts = Object.entries(files).map(([path, content]) => ({
    path: `${top}/${path}`,
    content,
    mode: content.startsWith('#!') ? '0000775' : '0000664',
  }));
  return gzippedTar([...noted, folder, ...parts]);
}
