import { isRecord } from '../../shared/json.js';
import type { ApiOperation, ApiParameter, ParameterPlace, Style } from './api-operation.js';
import type { FoundOperation } from './list-operations.js';
import { readBody } from './read-body.js';
import type { Part, References } from './references.js';
import { cut, newRoom, type SchemaRoom, toSchema } from './to-schema.js';

const MAX_DESCRIPTION = 1_000;

/** Reads one operation. Unreadable parameters are left out: a call shows what the server misses. */
export function readOperation(
  found: FoundOperation,
  refs: References,
  { servers, at }: { readonly servers: readonly string[]; readonly at: string },
): ApiOperation {
  const { id, method, path, operation, item } = found;
  const room = newRoom();
  const parameters = parametersOf(found, refs, room);
  const own = [operation, item].find(({ value }) => serversOf(value.servers).length > 0);
  return {
    id,
    method,
    path,
    description: describe(found),
    parameters,
    body: method === 'GET' || method === 'HEAD' ? null : readBody(part(operation, 'requestBody'), refs, room),
    servers: own ? serversOf(own.value.servers) : servers,
    serversAt: own ? own.at : at,
    answers: answersOf(operation, refs),
  };
}

function part({ value, at }: Part & { readonly value: Readonly<Record<string, unknown>> }, name: string): Part {
  return { value: value[name], at };
}

function describe({ method, path, operation, item }: FoundOperation): string {
  const { summary = item.value.summary, description = item.value.description, deprecated } = operation.value;
  const texts = [summary, description].filter((text) => typeof text === 'string' && text.trim() !== '') as string[];
  const words = [...new Set(texts.map((text) => text.trim()))].join('\n');
  return [`${method} ${path}`, deprecated === true ? 'Deprecated.' : '', cut(words, MAX_DESCRIPTION)]
    .filter((text) => text !== '')
    .join('\n');
}

/** The URLs of `servers`, with the defaults of their variables. */
export function serversOf(servers: unknown): string[] {
  if (!Array.isArray(servers)) return [];
  return servers.flatMap((server: unknown) => {
    if (!isRecord(server) || typeof server.url !== 'string') return [];
    const variables = isRecord(server.variables) ? server.variables : {};
    return server.url.replace(/\{([^{}]+)\}/g, (whole, name: string) => {
      const variable = Object.hasOwn(variables, name) ? variables[name] : undefined;
      return isRecord(variable) && variable.default !== undefined ? String(variable.default) : whole;
    });
  });
}

/** The operation's own parameters, then those of its path that it does not replace. */
function parametersOf({ operation, item, path }: FoundOperation, refs: References, room: SchemaRoom): ApiParameter[] {
  const read = new Map<string, ApiParameter>();
  for (const { value, at } of [item, operation]) {
    for (const entry of Array.isArray(value.parameters) ? value.parameters : []) {
      const parameter = readParameter({ value: entry, at }, refs, room);
      if (parameter) read.set(`${parameter.in} ${parameter.name}`, parameter);
    }
  }
  // Documents may omit path parameters, but no URL can be built without them.
  for (const [, name = ''] of path.matchAll(/\{([^{}]+)\}/g)) {
    if (!read.has(`path ${name}`)) read.set(`path ${name}`, { ...PLAIN, name });
  }
  return [...read.values()];
}

const PLAIN = {
  in: 'path',
  required: true,
  style: 'simple',
  explode: false,
  allowReserved: false,
  isJson: false,
  schema: { type: 'string' },
} as const satisfies Omit<ApiParameter, 'name'>;

/** The styles that each place allows. The first is the default. */
const STYLES: Readonly<Record<ParameterPlace, readonly Style[]>> = {
  path: ['simple', 'label', 'matrix'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
  header: ['simple'],
  cookie: ['form'],
};
/** Headers that the document describes elsewhere, so these parameters are ignored (OpenAPI 3.1, Parameter Object). */
const DECLARED_ELSEWHERE = new Set(['accept', 'content-type', 'authorization']);

function readParameter(entry: Part, refs: References, room: SchemaRoom): ApiParameter | null {
  const reached = refs.follow(entry);
  if (reached === null || !isRecord(reached.value)) return null;
  const { name, description, content, example, ...value } = reached.value;
  const place = value.in as ParameterPlace;
  if (typeof name !== 'string' || name === '' || !Object.hasOwn(STYLES, place)) return null;
  if (place === 'header' && DECLARED_ELSEWHERE.has(name.toLowerCase())) return null;
  const styles = STYLES[place];
  const style = styles.find((one) => one === value.style) ?? styles[0] ?? 'simple';
  const media = isRecord(content) ? Object.values(content)[0] : undefined;
  const schema = toSchema(
    { value: isRecord(media) ? media.schema : value.schema, at: reached.at },
    { refs, room, open: [] },
  );
  const words =
    typeof description === 'string' && description.trim() !== '' ? { description: cut(description.trim(), 600) } : {};
  return {
    name,
    in: place,
    required: place === 'path' || value.required === true,
    style,
    explode: typeof value.explode === 'boolean' ? value.explode : style === 'form' || style === 'deepObject',
    allowReserved: value.allowReserved === true,
    isJson: media !== undefined,
    schema: { ...schema, ...words },
  };
}

function answersOf({ value, at }: FoundOperation['operation'], refs: References): string[] {
  const answers = isRecord(value.responses) ? Object.entries(value.responses) : [];
  return answers.flatMap(([status, answer]) => {
    if (!/^2/.test(status)) return [];
    const reached = refs.follow({ value: answer, at });
    const content = reached !== null && isRecord(reached.value) ? reached.value.content : undefined;
    return isRecord(content) ? Object.keys(content).map(mediaTypeOf) : [];
  });
}

/** A media type without its parameters, in lower case. */
export function mediaTypeOf(text: string): string {
  return (text.split(';')[0] ?? '').trim().toLowerCase();
}
