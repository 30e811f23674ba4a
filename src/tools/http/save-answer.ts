import { extname } from 'node:path';
import { mediaTypeOf } from '../../format/openapi/read-operation.js';
import type { NetAnswer } from '../../platform/net/index.js';
import type { ToolOutcome } from '../contract.js';
import { writeLaneFile } from '../lane/lane-files.js';
import { toolError } from '../outcome.js';
import type { AnswerOf } from './answer.js';
import type { HttpDeps } from './request.js';

const ENDINGS: Readonly<Record<string, string>> = {
  'application/gzip': '.gz',
  'application/pdf': '.pdf',
  'application/zip': '.zip',
  'audio/mpeg': '.mp3',
  'image/gif': '.gif',
  'image/jpeg': '.jpg',
  'image/png': '.png',
  'image/svg+xml': '.svg',
  'image/webp': '.webp',
  'video/mp4': '.mp4',
};

/** Puts an answer's bytes under files/, by a name that is the same when the call is made again. */
export async function saveAnswer(
  { sandbox }: HttpDeps,
  { headers, body }: NetAnswer,
  { name, context }: AnswerOf,
): Promise<ToolOutcome> {
  const type = mediaTypeOf(headers.get('content-type') ?? 'application/octet-stream');
  const given = givenName(headers.get('content-disposition'));
  const ending = given === null ? (ENDINGS[type] ?? '.bin') : extname(given);
  const stem = given === null ? name : given.slice(0, given.length - ending.length);
  const path = `files/${stem}-${context.callKey.slice(0, 8)}${ending}`;
  const content = context.secrets.hide().bytes(Buffer.from(body));
  try {
    await writeLaneFile({ work: context.folder.work, path, content, uid: sandbox.uid });
  } catch {
    return toolError(
      `the answer (${body.byteLength} bytes of ${type}) cannot be written to ${path}: make room under files/`,
    );
  }
  return { text: `saved ${path} (${body.byteLength} bytes of ${type})`, isError: false, left: true };
}

/** The file's name of a Content-Disposition (RFC 6266), as far as it is plain. */
function givenName(disposition: string | null): string | null {
  const name = /filename="?([^";]+)"?/i.exec(disposition ?? '')?.[1]?.trim() ?? '';
  const plain = name
    .replace(/^.*[/\\]/, '')
    .replace(/[^\w.-]+/g, '_')
    .replace(/^[.-]+/, '')
    .slice(-80);
  return plain === '' || extname(plain) === '' ? null : plain;
}
