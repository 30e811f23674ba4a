import { randomUUID } from 'node:crypto';
import type { ApiBody, ApiField } from '../../../format/openapi/api-operation.js';
import { toJson } from '../../../shared/exact-json.js';
import { isRecord, type Json } from '../../../shared/json.js';
import { BadArgument } from '../../arguments.js';
import type { CallContext } from '../../contract.js';
import { mediaType } from '../../lane/media-type.js';
import { toolPath } from '../../tool-path.js';
import { readView, type ViewDeps } from '../../view.js';
import type { HttpCall } from '../request.js';
import { plain, queryPairs } from './encode-parameter.js';

type Body = NonNullable<HttpCall['body']>;

type Encode = (
  deps: ViewDeps,
  context: CallContext,
  of: { readonly body: ApiBody; readonly value: Json },
) => Promise<Body>;

/** Encodes each kind of body. */
const ENCODE = {
  json: async (_deps, _context, { body, value }) => ({ bytes: toJson(value), contentType: body.mediaType }),
  text: async (_deps, _context, { body, value }) => ({ bytes: plain(value), contentType: body.mediaType }),
  form: async (_deps, _context, { body, value }) => ({ bytes: formText(body, value), contentType: body.mediaType }),
  file: async (deps, context, { body, value }) => {
    const file = await readUpload(deps, context, value);
    const isOpen = body.mediaType.includes('*');
    return { bytes: file.bytes, contentType: isOpen ? mediaType(file.path) : body.mediaType };
  },
  multipart: encodeMultipart,
} as const satisfies Record<ApiBody['kind'], Encode>;

export function encodeBody(deps: ViewDeps, context: CallContext, body: ApiBody, value: Json): Promise<Body> {
  return ENCODE[body.kind](deps, context, { body, value });
}

const PLAIN_FIELD: ApiField = { style: 'form', explode: true, file: false, contentType: null };

function entriesOf(value: Json): readonly (readonly [string, Json])[] {
  if (!isRecord(value)) throw new BadArgument('"body" must be an object: a form has fields');
  return Object.entries(value as { readonly [key: string]: Json });
}

function formText({ fields }: ApiBody, value: Json): string {
  const pairs = entriesOf(value).flatMap(([name, one]) => {
    const { style, explode, contentType } = fields.get(name) ?? PLAIN_FIELD;
    if (one === null) return [];
    const isJson = contentType !== null && /json/.test(contentType);
    return queryPairs({ name, style, explode, allowReserved: false }, isJson ? toJson(one) : one);
  });
  return pairs.join('&').replaceAll('%20', '+');
}

/** Encodes objects as JSON and lists as several parts (OpenAPI 3.1, Encoding Object). */
async function encodeMultipart(...[deps, context, { body, value }]: Parameters<Encode>): Promise<Body> {
  const parts: Part[] = [];
  for (const [name, given] of entriesOf(value)) {
    const field = body.fields.get(name) ?? PLAIN_FIELD;
    for (const one of Array.isArray(given) ? (given as readonly Json[]) : [given]) {
      if (one === null) continue;
      if (field.file) {
        const { path, bytes } = await readUpload(deps, context, one);
        parts.push({
          name,
          bytes,
          filename: path.split('/').at(-1) ?? path,
          contentType: field.contentType ?? mediaType(path),
        });
      } else {
        const contentType = field.contentType ?? (isRecord(one) ? 'application/json' : null);
        parts.push({ name, bytes: Buffer.from(plain(one), 'utf8'), filename: null, contentType });
      }
    }
  }
  return multipart(parts);
}

/** A workspace file as the step sees it, redacted, since a program may have written secrets to it. */
async function readUpload(
  deps: ViewDeps,
  context: CallContext,
  given: Json,
): Promise<{ readonly path: string; readonly bytes: Uint8Array }> {
  if (typeof given !== 'string') throw new BadArgument('a file is named by its path, like outputs/report.pdf');
  const path = toolPath(given);
  const file = await readView(deps, context, path);
  if (typeof file === 'string') throw new BadArgument(`${path} cannot be sent: ${file}`);
  if (file === null) throw new BadArgument(`there is no file ${path}: list what there is with Glob`);
  return { path, bytes: context.secrets.hide().bytes(Buffer.from(file.content)) };
}

interface Part {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly filename: string | null;
  readonly contentType: string | null;
}

/** A body of multipart/form-data (RFC 7578), its names escaped as browsers do. */
function multipart(parts: readonly Part[]): { readonly bytes: Uint8Array; readonly contentType: string } {
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
