import type { HttpToolPlan } from '../../format/model.js';
import type { ApiBody } from '../../format/openapi/api-operation.js';
import { isRecord, type Json, type JsonObject } from '../../shared/json.js';
import { BadArgument, optionalString, parameters, stringArg, text } from '../arguments.js';
import type { CallContext, Operation, ToolOutcome } from '../contract.js';
import { answerOutcome } from './answer.js';
import { encodeBody } from './openapi/encode-body.js';
import { queryPairs } from './openapi/encode-parameter.js';
import { type HttpCall, type HttpDeps, isRead, sendCall } from './request.js';

/** A tool without a document: any path below its base, by the methods that its file allows. */
export function genericTool(deps: HttpDeps, tool: HttpToolPlan & { readonly base: string }): Operation {
  const { base } = tool;
  return {
    operation: null,
    description: tool.description,
    parameters: schemaOf(tool),
    acts: (args) => !isRead(methodOf(tool, args)),
    program: false,
    run: async (args, context) => {
      const call = await callOf(deps, tool, { args, context });
      const answer = await sendCall(deps, { tool, base }, { call, context });
      if (!('kind' in answer)) return answer as ToolOutcome;
      return answerOutcome(deps, answer, { name: tool.name, context, expected: [] });
    },
  };
}

function schemaOf({ methods }: HttpToolPlan): JsonObject {
  const writes = methods.some((method) => !isRead(method));
  return parameters(
    {
      path: text('The path below the address of the tool, like /orders/17.'),
      method: { type: 'string', enum: methods, description: `${methods[0] ?? 'GET'} when left out.` },
      query: { type: 'object', description: 'Query parameters; a list repeats its name.' },
      ...(writes && {
        body: { description: 'What is sent: a JSON value, or text.' },
        content_type: text(
          'Its media type; application/json when left out. application/x-www-form-urlencoded and multipart/form-data take an object of fields.',
        ),
        files: {
          type: 'object',
          additionalProperties: { type: 'string' },
          description: 'Files of a multipart/form-data body: field to path, like {"file": "outputs/report.pdf"}.',
        },
        upload: text('Or the path of a file that is the whole body, like files/photo.png.'),
      }),
    },
    ['path'],
  );
}

function methodOf({ methods }: HttpToolPlan, args: JsonObject): string {
  return String(args.method ?? methods[0] ?? 'GET').toUpperCase();
}

interface Called {
  readonly args: JsonObject;
  readonly context: CallContext;
}

async function callOf(deps: HttpDeps, tool: HttpToolPlan, { args, context }: Called): Promise<HttpCall> {
  const method = methodOf(tool, args);
  if (!tool.methods.includes(method)) {
    throw new BadArgument(`tool ${tool.name} does not allow ${method}: its methods are ${tool.methods.join(', ')}`);
  }
  const query = isRecord(args.query) ? Object.entries(args.query as JsonObject) : [];
  const pairs = query.flatMap(([name, value]) =>
    value === null
      ? []
      : queryPairs(
          { name, style: isRecord(value) ? 'deepObject' : 'form', explode: true, allowReserved: false },
          value,
        ),
  );
  const body = await bodyOf(deps, { args, context });
  if (body && isRead(method)) throw new BadArgument(`${method} sends no body: use "query"`);
  return { method, path: stringArg(args, 'path'), query: pairs, headers: {}, body };
}

async function bodyOf(deps: HttpDeps, { args, context }: Called): Promise<HttpCall['body']> {
  const upload = optionalString(args, 'upload');
  const files = isRecord(args.files) ? (args.files as JsonObject) : {};
  const given = args.body;
  const names = Object.keys(files);
  if (upload !== undefined && (given !== undefined || names.length > 0)) {
    throw new BadArgument('give either "upload" or "body" with "files"');
  }
  if (upload === undefined && given === undefined && names.length === 0) return null;
  const mediaType = optionalString(args, 'content_type') ?? (names.length > 0 ? 'multipart/form-data' : undefined);
  if (upload !== undefined) return encodeBody(deps, context, shape('file', mediaType ?? '*/*'), upload);
  const kind = kindOf(given, mediaType);
  if (names.length > 0 && kind !== 'multipart') throw new BadArgument('"files" go with multipart/form-data alone');
  const fields = isRecord(given) ? (given as JsonObject) : {};
  const value = kind === 'multipart' ? { ...fields, ...files } : (given ?? {});
  return encodeBody(deps, context, shape(kind, mediaType ?? typeOf(given), names), value);
}

/** Models also send JSON as a string. */
function typeOf(value: Json | undefined): string {
  if (typeof value !== 'string') return 'application/json';
  try {
    JSON.parse(value);
    return 'application/json';
  } catch {
    return 'text/plain; charset=utf-8';
  }
}

function kindOf(value: Json | undefined, mediaType: string | undefined): ApiBody['kind'] {
  if (mediaType?.startsWith('multipart/form-data')) return 'multipart';
  if (mediaType?.startsWith('application/x-www-form-urlencoded')) return typeof value === 'string' ? 'text' : 'form';
  // A text is sent as it is.
  return typeof value === 'string' ? 'text' : 'json';
}

function shape(kind: ApiBody['kind'], mediaType: string, files: readonly string[] = []): ApiBody {
  const field = { style: 'form', explode: true, file: true, contentType: null } as const;
  return { kind, mediaType, required: true, schema: {}, fields: new Map(files.map((name) => [name, field])) };
}
