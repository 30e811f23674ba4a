import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { isRecord } from '../../src/shared/json.js';

interface Schema {
  readonly $ref?: string;
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}
interface Declared {
  readonly headers?: Readonly<Record<string, object>>;
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>;
}
interface Operation {
  readonly responses: Readonly<Record<string, Declared>>;
}
export interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Holds the answers of the API against its own description. Throws for one that does not fit. */
export type AnswerCheck = (
  request: { readonly method: string; readonly path: string },
  response: Response,
) => Promise<void>;

/** Headers of HTTP itself and those that keep browsers safe: no operation has to name them. */
const COMMON = new Set(
  `access-control-allow-origin cache-control connection content-disposition content-encoding content-length
  content-security-policy content-type cross-origin-opener-policy cross-origin-resource-policy date expires keep-alive
  origin-agent-cluster pragma referrer-policy strict-transport-security transfer-encoding vary x-accel-buffering
  x-content-type-options x-dns-prefetch-control x-download-options x-frame-options x-permitted-cross-domain-policies
  x-xss-protection`.split(/\s+/),
);

const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

export function createAnswerCheck(description: Description): AnswerCheck {
  const ajv = new Ajv2020({ strict: false, formats: { 'date-time': DATE_TIME }, validateFormats: true, logger: false });
  ajv.addSchema(description, 'api', undefined, false);
  const paths = Object.entries(description.paths).map(([path, operations]) => ({
    path,
    pattern: pathPattern(path),
    operations,
  }));
  const compiled = new Map<string, ValidateFunction>();

  function validate(pointer: string): ValidateFunction {
    const known = compiled.get(pointer) ?? ajv.compile({ $ref: `api#${pointer}` });
    compiled.set(pointer, known);
    return known;
  }

  return async ({ method, path }, response) => {
    const verb = method.toLowerCase() === 'head' ? 'get' : method.toLowerCase();
    const row = paths.find(({ pattern, operations }) => pattern.test(path) && operations[verb] !== undefined);
    const where = `${method.toUpperCase()} ${row?.path ?? path} ${response.status}`;
    const type = response.headers.get('content-type')?.split(';')[0]?.trim() ?? null;
    if (row === undefined) {
      if (response.status < 400) throw new Error(`${where}: no operation of the description has this path`);
      return;
    }
    if (!response.headers.has('x-request-id')) throw new Error(`${where}: it carries no X-Request-Id`);
    const declared = row.operations[verb]?.responses[String(response.status)];
    if (declared === undefined)
      throw new Error(`${where}: the description does not declare this status: ${await textOf(response)}`);
    for (const header of response.headers.keys())
      if (!COMMON.has(header) && !namesOf(declared).includes(header))
        throw new Error(`${where}: the description does not declare the header ${header}`);
    const isStream = type === 'text/event-stream';
    if (type === null || (!isStream && (await response.clone().arrayBuffer()).byteLength === 0)) return;
    const content = declared.content?.[type] ?? declared.content?.['*/*'];
    if (content === undefined)
      throw new Error(`${where}: the description does not declare the type ${type}: ${await textOf(response)}`);
    if (type !== 'application/json' || declared.content?.[type] === undefined) return;
    const body: unknown = await response.clone().json();
    const pointer = `/paths/${pointerPart(row.path)}/${verb}/responses/${response.status}/content/application~1json/schema`;
    const fits = validate(pointer);
    if (!fits(body))
      throw new Error(`${where}: ${ajv.errorsText(fits.errors)}: ${JSON.stringify(body).slice(0, 2_000)}`);
    const undeclared = undeclaredKeys(body, content.schema ? [content.schema] : [], description);
    if (undeclared.length > 0) throw new Error(`${where}: the description does not declare ${undeclared.join(', ')}`);
  };
}

function namesOf({ headers = {} }: Declared): string[] {
  return Object.keys(headers).map((name) => name.toLowerCase());
}

async function textOf(response: Response): Promise<string> {
  const isStream = response.headers.get('content-type')?.includes('event-stream') ?? false;
  return isStream ? 'a stream' : (await response.clone().text()).slice(0, 500);
}

export function pathPattern(path: string): RegExp {
  const source = path.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{[^}]+\}/g, '[^/]+');
  return new RegExp(`^${source}$`);
}

/** RFC 6901, in the fragment of a URI. */
function pointerPart(part: string): string {
  return encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));
}

/**
 * The keys of objects in the value that no form of their schemas names. JSON Schema lets further keys pass, which a
 * generated client would not know.
 */
function undeclaredKeys(value: unknown, schemas: readonly Schema[], of: Description, at = ''): string[] {
  const open = schemas.flatMap((schema) => formsOf(schema, of));
  if (Array.isArray(value)) {
    const items = open.flatMap(({ items: item }) => (item ? [item] : []));
    return items.length === 0 ? [] : value.flatMap((one) => undeclaredKeys(one, items, of, `${at}[]`));
  }
  if (!isRecord(value)) return [];
  const isFree = open.some(
    ({ type, properties, additionalProperties: more }) =>
      (type === undefined && properties === undefined) || (more !== undefined && more !== false),
  );
  return Object.entries(value).flatMap(([key, inner]) => {
    const forms = open.flatMap(({ properties = {} }) => (properties[key] ? [properties[key]] : []));
    if (forms.length > 0) return undeclaredKeys(inner, forms, of, `${at}.${key}`);
    return isFree ? [] : [`${at}.${key}`];
  });
}

/** The schema and all that it is put together of. */
function formsOf(schema: Schema, of: Description): Schema[] {
  if (schema.$ref !== undefined) {
    const target = of.components.schemas[schema.$ref.split('/').at(-1) ?? ''];
    return target ? formsOf(target, of) : [];
  }
  const parts = [...(schema.allOf ?? []), ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  const isWrapper = parts.length > 0 && schema.properties === undefined;
  return [...(isWrapper ? [] : [schema]), ...parts.flatMap((part) => formsOf(part, of))];
}
