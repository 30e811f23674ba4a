import { Readable } from 'node:stream';
import type { Context } from 'hono';
import { bodyStream, destroyOnClose } from './body-stream.js';
import { etagOf, isKnown } from './preconditions.js';

export interface SentFile {
  /** The last part of its path. */
  readonly name: string;
  readonly size: number;
  readonly sha: string;
  /** Called only when bytes are sent. */
  readonly open: () => Promise<Readable>;
}

/**
 * Sends a user's file as a download, never as a page of our origin. Supports HEAD, `If-None-Match` and one byte range
 * (RFC 9110, sections 13 and 14); other ranges get the whole file.
 */
export async function sendFile(c: Context, file: SentFile): Promise<Response> {
  const etag = etagOf(file.sha);
  const headers = {
    'Content-Type': 'application/octet-stream',
    'Content-Disposition': `attachment; filename*=UTF-8''${extValue(file.name)}`,
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'Cache-Control': 'private, no-cache',
    'Accept-Ranges': 'bytes',
    ETag: etag,
  };
  if (isKnown(c, file.sha)) return new Response(null, { status: 304, headers });
  const range = rangeOf(c, etag, file.size);
  if (range === 'beyond') {
    return new Response(null, { status: 416, headers: { ...headers, 'Content-Range': `bytes */${file.size}` } });
  }
  const { start, end } = range ?? { start: 0, end: file.size };
  const sent = {
    ...headers,
    'Content-Length': String(end - start),
    ...(range && { 'Content-Range': `bytes ${start}-${end - 1}/${file.size}` }),
  };
  const status = range ? 206 : 200;
  if (c.req.method === 'HEAD') return new Response(null, { status, headers: sent });
  const content = await file.open();
  // A part ends only after its content, which may be silent.
  destroyOnClose(c, content);
  const part = range ? Readable.from(slice(content, start, end), { objectMode: false }) : content;
  return new Response(bodyStream(c, part), { status, headers: sent });
}

/** RFC 8187's ext-value: encodes any character, so that a name cannot break the header. */
function extValue(name: string): string {
  return encodeURIComponent(name).replace(/['()*!]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Null sends the whole file. `end` is exclusive. */
function rangeOf(c: Context, etag: string, size: number): { start: number; end: number } | 'beyond' | null {
  const condition = c.req.header('if-range');
  if (condition !== undefined && condition !== etag) return null;
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(c.req.header('range')?.trim() ?? '');
  const [, from = '', to = ''] = match ?? [];
  if (!match || (from === '' && to === '')) return null;
  if (from === '') return to === '0' || size === 0 ? 'beyond' : { start: Math.max(0, size - Number(to)), end: size };
  if (to !== '' && Number(to) < Number(from)) return null;
  if (Number(from) >= size) return 'beyond';
  return { start: Number(from), end: to === '' ? size : Math.min(size, Number(to) + 1) };
}

/** Reads from the start, since the bytes are verified on the way; what follows the range is not read. */
async function* slice(content: Readable, start: number, end: number): AsyncGenerator<Uint8Array> {
  let at = 0;
  try {
    for await (const chunk of content as AsyncIterable<Buffer>) {
      const part = chunk.subarray(Math.max(0, start - at), Math.max(0, end - at));
      at += chunk.length;
      if (part.length > 0) yield part;
      if (at >= end) return;
    }
  } finally {
    content.destroy();
  }
}
