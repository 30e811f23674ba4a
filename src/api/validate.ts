import type { RouteConfig } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { type ZodError, z } from 'zod';
import { isRecord } from '../shared/json.js';
import type { Refusal } from '../shared/refusal.js';
import type { AppEnv } from './env.js';
import { type Fault, refusalOf, SENT_TWICE } from './faults.js';
import { refuse } from './guard.js';
import { unknownKey } from './unknown-key.js';

const WHERE = {
  json: 'body',
  form: 'body',
  query: 'query',
  param: 'path',
  header: 'header',
  cookie: 'cookie',
} as const;

/** The library's type of a failed outcome lacks `data`. */
type Outcome = { readonly target: keyof typeof WHERE; readonly data?: unknown } & (
  | { readonly success: true }
  | { readonly success: false; readonly error: ZodError }
);

/** The maximum number of faults in a response; it counts the others. */
const MAX_NAMED = 100;

/** The hook of each validator of a route: refuses with all faults and their paths. */
export function refuseFaults(route: RouteConfig): (outcome: Outcome, c: Context<AppEnv>) => Promise<never> | undefined {
  return (outcome, c) => {
    if (outcome.success) return undefined;
    const where = WHERE[outcome.target];
    const schema = where === 'body' ? bodySchema(route) : where === 'query' ? route.request?.query : undefined;
    const inBody = keysAt(bodySchema(route), []);
    return refuse(c, invalid(outcome.error, { where, schema, data: outcome.data, inBody }));
  };
}

interface Sent {
  readonly where: (typeof WHERE)[keyof typeof WHERE];
  readonly schema: unknown;
  readonly data?: unknown;
  /** The keys that the body accepts. */
  readonly inBody?: readonly string[];
}

/** The refusal for a schema error, with the path of each fault. */
export function invalid(error: ZodError, sent: Sent): Refusal {
  return refusalOf(
    error.issues.flatMap((issue) => faultsOf(issue, sent)),
    MAX_NAMED,
  );
}

type Path = readonly PropertyKey[];

/** The messages are created lazily: a hint costs more than finding the fault. */
function faultsOf(issue: ZodError['issues'][number], sent: Sent): (() => Fault)[] {
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => () => unknownAt(issue.path, key, sent));
  const fault = () => ({ path: pathOf(sent, issue.path), message: inWords(issue, sent) });
  if (issue.code !== 'invalid_union') return [fault];
  if (issue.discriminator === undefined) {
    // Report only the option that accepts the value's type: its faults are what the caller can fix.
    const meant = issue.errors.filter((errors) => errors.every((inner) => !refusesType(inner)));
    const [only] = meant;
    if (only === undefined || meant.length > 1) return [fault];
    return only.flatMap((inner) => faultsOf({ ...inner, path: [...issue.path, ...inner.path] }, sent));
  }
  // Without the discriminating key the other keys would be checked against all options.
  const at = issue.path.slice(0, -1);
  const value = valueAt(sent.data, at);
  const known = keysAt(sent.schema, at);
  const unknown = Object.keys(isRecord(value) ? value : {}).filter((key) => !known.includes(key));
  return [...unknown.map((key) => () => unknownAt(at, key, sent)), fault];
}

function unknownAt(at: Path, key: string, sent: Sent): Fault {
  const isElsewhere = sent.where === 'query' && sent.inBody?.includes(key);
  const message = isElsewhere ? 'it belongs in the body' : unknownKey(key, keysAt(sent.schema, at));
  return { path: pathOf(sent, [...at, key]), message };
}

function pathOf({ where }: Sent, path: Path): string {
  return [where, ...path.map(String)].join('.');
}

function valueAt(data: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined),
    data,
  );
}

function refusesType({ code, path }: ZodError['issues'][number]): boolean {
  return path.length === 0 && (code === 'invalid_type' || code === 'invalid_value');
}

/** A repeated query key parses as a list, and an invalid number as NaN: the message must describe what was sent. */
function inWords({ message, path }: ZodError['issues'][number], { where, data }: Sent): string {
  return where === 'query' && Array.isArray(valueAt(data, path)) ? SENT_TWICE : message;
}

function bodySchema(route: RouteConfig): unknown {
  const [content] = Object.values(route.request?.body?.content ?? {});
  return content && 'schema' in content ? content.schema : undefined;
}

/** The keys that an object at this path of the schema may have; none when the path leads to no object. */
function keysAt(schema: unknown, path: readonly PropertyKey[]): string[] {
  let options = open(schema);
  for (const part of path) options = options.flatMap((option) => step(option, part)).flatMap(open);
  return [...new Set(options.flatMap((option) => (option instanceof z.ZodObject ? Object.keys(option.shape) : [])))];
}

/** A schema without its wrappers (optional, nullable, default …); a union as its options. */
function open(schema: unknown): unknown[] {
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(open);
  if (schema instanceof z.ZodPipe) return open(schema.in);
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodReadonly
  ) {
    return open(schema.unwrap());
  }
  return [schema];
}

function step(schema: unknown, part: PropertyKey): unknown[] {
  if (schema instanceof z.ZodObject) return [schema.shape[String(part)]];
  if (schema instanceof z.ZodArray) return [schema.element];
  if (schema instanceof z.ZodRecord) return [schema.valueType];
  return [];
}
