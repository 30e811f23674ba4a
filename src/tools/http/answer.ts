import { STATUS_CODES } from 'node:http';
import { mediaTypeOf } from '../../format/openapi/read-operation.js';
import type { NetAnswer } from '../../platform/net/index.js';
import { charsetOf } from '../../shared/charset.js';
import type { CallContext, ToolOutcome } from '../contract.js';
import { decodeText } from '../text-file.js';
import type { HttpDeps } from './request.js';
import { saveAnswer } from './save-answer.js';

const TEXT =
  /^(?:text\/|application\/(?:[\w.+-]*\+)?(?:json|xml|yaml)\b|application\/(?:x-)?(?:ndjson|javascript|x-www-form-urlencoded|graphql)\b)/;

const JSON_TYPE = /^application\/(?:[\w.+-]*\+)?json\b/;

/** Headers that say something about the answer, and nothing about who asked. */
const SHOWN_HEADERS = ['location', 'link', 'retry-after', 'etag', 'x-total-count', 'x-request-id', 'content-range'];

const SHOWN = 2_000;

export interface AnswerOf {
  /** The tool's name as the model has it. */
  readonly name: string;
  readonly context: CallContext;
  /** Media types of a good answer, as the document has them; empty: any. */
  readonly expected: readonly string[];
}

/** An answer as the model reads it: status, what matters of the headers, the text; bytes become a file. */
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

/** What is wrong with a good answer's form; null when nothing is. */
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
    // Several values, one a line, are sent under that type too.
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
