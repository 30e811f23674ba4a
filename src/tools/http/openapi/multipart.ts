import { randomUUID } from 'node:crypto';

export interface Part {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly filename: string | null;
  readonly contentType: string | null;
}

/** A body of multipart/form-data (RFC 7578), its names escaped as browsers do. */
export function multipart(parts: readonly Part[]): { readonly bytes: Uint8Array; readonly contentType: string } {
  const boundary = `signalbox-${randomUUID()}`;
  const chunks = parts.flatMap(({ name, bytes, filename, contentType }) => {
    const file = filename === null ? '' : `; filename="${quoted(filename)}"`;
    const type = contentType === null ? '' : `\r\nContent-Type: ${contentType.replace(/[^\x20-\x7e]/g, '')}`;
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"${file}${type}\r\n\r\n`;
    return [Buffer.from(head, 'utf8'), bytes, Buffer.from('\r\n')];
  });
  return {
    bytes: Buffer.concat([...chunks, Buffer.from(`--${boundary}--\r\n`)]),
    contentType: `multipart/form-data; boundary=${boundary}`,
  };
}

function quoted(text: string): string {
  return text.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
}
