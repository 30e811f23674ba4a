import { STATUS_CODES } from 'node:http';
import { extname } from 'node:path';
import { mediaTypeOf } from '../../format/openapi/read-operation.js';
import type { NetAnswer } from '../../platform/net/index.js';
import { charsetOf } from '../../shared/charset.js';
import type { CallContext, ToolOutcome } from '../contract.js';
import { writeLaneFile } from '../lane/lane-files.js';
import { toolError } from '../outcome.js';
import { decodeText } from '../text-file.js';
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

const TEXT =
  /^(?:text\/|application\/(?:[\w.+-]*\+)?(?:json|xml|yaml)\b|application\/(?:x-)?(?:ndjson|javascript|x-www-form-urlencoded|graphql)\b)/;

const JSON_TYPE = /^application\/(?:[\w.+-]*\+)?json\b/;

/** Headers that describe the answer and do not identify the caller. */
const SHOWN_HEADERS = ['location', 'link', 'retry-after', 'etag', 'x-total-count', 'x-request-id', 'content-range'];

const SHOWN = 2_000;

interface AnswerOf {
  /** The tool's name as the model has it. */
  readonly name: string;
  readonly context: CallContext;
  /** Media types of a successful answer, from the document; empty allows any. */
  readonly expected: readonly string[];
}

/** An answer as the model reads it: status, relevant headers, and the text. Other bytes become a file. */
export async function answerOutcome(deps: HttpDeps, answer: NetAnswer, of: AnswerOf): Promise<ToolOutcome> {
  const { status, headers, body } = answer;
  const isError = status >= 400 || (status >= 300 && status !== 304);
  const type = headers.get('content-type');
  const detail = { status };
  const head = [
    `${status} ${STATUS_CODES[status] ?? ''}`.trim(),
    ...SHOWN_HEADERS.flatMap((name) => (headers.has(name) ? [`${name}: ${headers.get(name)}`] : [])),
  ].join('\n');
  if (body.byteLength === 0) return { text: head, isError, detail };
  const text = isText(type) || type === null ? decodeText(body, charsetOf(type ?? '')) : null;
  if (text === null) {
    if (isError) return { text: `${head}\n(${body.byteLength} bytes of ${type ?? 'no type'})`, isError, detail };
    const saved = await saveAnswer(deps, answer, of);
    return { ...saved, text: `${head}\n${saved.text}`, detail };
  }
  const fault = isError ? null : faultOf(type, text, of.expected);
  if (fault !== null) return { text: `${head}\n${fault}. It begins:\n${text.slice(0, SHOWN)}`, isError: true, detail };
  return { text: `${head}\n\n${text}`, isError, detail };
}

/** What is wrong with the form of a successful answer; null for a valid one. */
function faultOf(type: string | null, text: string, expected: readonly string[]): string | null {
  if (isJson(type) && !parses(text)) return 'the answer says that it is JSON, and is not';
  const wanted = expected.filter((one) => isJson(one));
  const isForeign = wanted.length > 0 && wanted.length === expected.length && type !== null && !isJson(type);
  if (isForeign) return `the answer is ${mediaTypeOf(type)}, and its document says ${wanted.join(' or ')}`;
  return null;
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    // Not JSON, although some servers send several JSON values, one a line, under this type.
    return false;
  }
}

/** True for a media type whose content is read as text, and which the model therefore sees. */
export function isText(contentType: string | null): boolean {
  return contentType !== null && TEXT.test(contentType.trim().toLowerCase());
}

function isJson(contentType: string | null): boolean {
  return contentType !== null && JSON_TYPE.test(contentType.trim().toLowerCase());
}

/** Saves an answer's bytes under files/, with the same name when the call is repeated. */
async function saveAnswer(
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

/** The file name of a Content-Disposition (RFC 6266), reduced to plain characters. */
function givenName(disposition: string | null): string | null {
  const name = /filename="?([^";]+)"?/i.exec(disposition ?? '')?.[1]?.trim() ?? '';
  const plain = name
    .replace(/^.*[/\\]/, '')
    .replace(/[^\w.-]+/g, '_')
    .replace(/^[.-]+/, '')
    .slice(-80);
  return plain === '' || extname(plain) === '' ? null : plain;
}
