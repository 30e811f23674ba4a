import type { HttpToolPlan } from '../../../format/model.js';
import type { ApiOperation, ApiParameter } from '../../../format/openapi/api-operation.js';
import { toJson } from '../../../shared/exact-json.js';
import type { Json, JsonObject } from '../../../shared/json.js';
import { BadArgument, parameters } from '../../arguments.js';
import type { CallContext, Operation, ToolOutcome } from '../../contract.js';
import { answerOutcome } from '../answer.js';
import { type HttpCall, type HttpDeps, isRead, lower, sendCall } from '../request.js';
import { encodeBody } from './encode-body.js';
import { headerValue, pathValue, queryPairs, strict } from './encode-parameter.js';

/** An operation as a model calls it, with its parameters by argument name. */
export interface TypedOperation {
  readonly api: ApiOperation;
  readonly parameters: JsonObject;
  readonly arguments: ReadonlyMap<string, ApiParameter>;
  /** The argument that is the body; null when there is none. */
  readonly bodyName: string | null;
}

/** The service sets these headers, so they are not arguments. */
const OURS = new Set(['idempotency-key', 'user-agent', 'host', 'content-length', 'accept-encoding', 'connection']);

/** An operation with its arguments, each under a name that every provider accepts. */
export function typedOperation(api: ApiOperation): TypedOperation {
  const named = new Map<string, ApiParameter>();
  for (const parameter of api.parameters) {
    if (parameter.in === 'header' && OURS.has(parameter.name.toLowerCase())) continue;
    named.set(freeName(parameter, named), parameter);
  }
  const bodyName = api.body === null ? null : named.has('body') ? 'request_body' : 'body';
  const properties = [...named].map(([name, { schema }]): [string, JsonObject] => [name, schema]);
  const required = [...named].filter(([, parameter]) => parameter.required).map(([name]) => name);
  if (api.body && bodyName !== null) {
    properties.push([bodyName, api.body.schema]);
    if (api.body.required) required.push(bodyName);
  }
  return { api, parameters: parameters(Object.fromEntries(properties), required), arguments: named, bodyName };
}

function freeName({ name, in: place }: ApiParameter, taken: ReadonlyMap<string, unknown>): string {
  const folded = name.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, 50) || place;
  let free = folded;
  for (let nth = 1; taken.has(free); nth += 1) free = nth === 1 ? `${folded}_${place}` : `${folded}_${nth}`;
  return free;
}

/** One typed tool. Headers that the tool's file sets are not arguments. */
export function operationTool(
  deps: HttpDeps,
  { tool, base }: { readonly tool: HttpToolPlan; readonly base: string },
  typed: TypedOperation,
): Operation {
  const { api } = typed;
  return {
    operation: api.id,
    description: api.description,
    parameters: withoutOwn(typed, tool),
    acts: () => !isRead(api.method),
    program: false,
    run: async (args, context) => {
      const call = await callOf(deps, typed, { args, context });
      const answer = await sendCall(deps, { tool, base }, { call, context });
      if (!('kind' in answer)) return answer as ToolOutcome;
      return answerOutcome(deps, answer, { name: tool.name, context, expected: api.answers });
    },
  };
}

function withoutOwn(typed: TypedOperation, { headers }: HttpToolPlan): JsonObject {
  const own = new Set(Object.keys(lower(headers)));
  const drop = [...typed.arguments].filter(([, one]) => one.in === 'header' && own.has(one.name.toLowerCase()));
  if (drop.length === 0) return typed.parameters;
  const names = new Set(drop.map(([name]) => name));
  const properties = Object.entries(typed.parameters.properties as JsonObject).filter(([name]) => !names.has(name));
  const required = (typed.parameters.required as readonly string[]).filter((name) => !names.has(name));
  return { ...typed.parameters, properties: Object.fromEntries(properties), required };
}

interface Called {
  readonly args: JsonObject;
  readonly context: CallContext;
}

async function callOf(deps: HttpDeps, typed: TypedOperation, { args, context }: Called): Promise<HttpCall> {
  const { api, bodyName } = typed;
  const query: string[] = [];
  const headers: Record<string, string> = {};
  const cookies: string[] = [];
  const inPath = new Map<string, string>();
  for (const [name, parameter] of typed.arguments) {
    const given = args[name];
    if (given === undefined || (given === null && !parameter.required)) continue;
    const value: Json = parameter.isJson ? toJson(given) : given;
    if (parameter.in === 'query') query.push(...queryPairs(parameter, value));
    else if (parameter.in === 'header') headers[parameter.name] = headerValue(parameter, value);
    else if (parameter.in === 'cookie') cookies.push(...queryPairs(parameter, value));
    else inPath.set(parameter.name, pathValue(parameter, value));
  }
  if (cookies.length > 0) headers.cookie = cookies.join('; ');
  const value = bodyName === null ? undefined : args[bodyName];
  const body = api.body && value !== undefined ? await encodeBody(deps, context, api.body, value) : null;
  const accept = api.answers.length > 0 ? { accept: [...new Set([...api.answers, '*/*;q=0.1'])].join(', ') } : {};
  return { method: api.method, path: pathOf(api, inPath), query, headers, body, ...accept };
}

function pathOf({ path }: ApiOperation, values: ReadonlyMap<string, string>): string {
  const [written = ''] = path.split(/[?#]/);
  return written.replace(/\{([^{}]+)\}|[^{}]+|[{}]/g, (text, name?: string) => {
    if (name === undefined) return text.replace(/[^A-Za-z0-9\-._~:@!$&'()*+,;=/%]/gu, strict);
    const value = values.get(name);
    if (value === undefined || value === '') throw new BadArgument(`"${name}" is a part of the address and is missing`);
    return value;
  });
}
