import type { RouteConfig } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { ZodError } from 'zod';
import { Refusal } from '../shared/refusal.js';
import { unknownKey } from './closest.js';
import type { AppEnv } from './env.js';
import { refuse } from './guard.js';
import { keysAt } from './schema-keys.js';

interface Fault {
  /** `body.files.0.path`, `query.limit`, `path.id`. */
  readonly path: string;
  readonly message: string;
}

const WHERE = {
  json: 'body',
  form: 'body',
  query: 'query',
  param: 'path',
  header: 'header',
  cookie: 'cookie',
} as const;

type Outcome = { readonly target: keyof typeof WHERE; readonly data: unknown } & (
  | { readonly success: true }
  | { readonly success: false; readonly error: ZodError }
);

/** As many faults as an answer names; it counts the rest. */
const MAX_NAMED = 100;

/** Called by each validator of a route: the faults at once, each with its path. */
export function refuseFaults(route: RouteConfig): (outcome: Outcome, c: Context<AppEnv>) => Promise<void> {
  return async (outcome, c) => {
    if (outcome.success) return;
    const where = WHERE[outcome.target];
    const schema = where === 'body' ? bodySchema(route) : where === 'query' ? route.request?.query : undefined;
    const inBody = keysAt(bodySchema(route), []);
    await refuse(c, invalid(outcome.error, { where, schema, data: outcome.data, inBody }));
  };
}

interface Sent {
  readonly where: (typeof WHERE)[keyof typeof WHERE];
  readonly schema: unknown;
  readonly data: unknown;
  /** The keys that the body may have. */
  readonly inBody?: readonly string[];
}

/** The refusal of what does not fit its schema, each fault with its path. */
export function invalid(error: ZodError, sent: Sent): Refusal {
  const all = error.issues.flatMap((issue) => faultsOf(issue, sent));
  const issues = all.slice(0, MAX_NAMED).map((name) => name());
  const more = all.length > 1 ? ` (and ${all.length - 1} more)` : '';
  return new Refusal('refused', `${issues[0]?.path}: ${issues[0]?.message}${more}`, { code: 'invalid', issues });
}

/** Each fault is put in words only when it is named: a hint costs more than finding the fault did. */
function faultsOf(issue: ZodError['issues'][number], { where, schema, data, inBody }: Sent): (() => Fault)[] {
  const path = [where, ...issue.path.map(String)].join('.');
  if (issue.code !== 'unrecognized_keys') {
    return [() => ({ path, message: inWords(issue.message, { where, value: valueAt(data, issue.path) }) })];
  }
  const known = keysAt(schema, issue.path);
  return issue.keys.map((key) => () => {
    const isElsewhere = where === 'query' && inBody?.includes(key);
    return { path: `${path}.${key}`, message: isElsewhere ? 'it belongs in the body' : unknownKey(key, known) };
  });
}

function valueAt(data: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined),
    data,
  );
}

/**
 * The library says of a key that is not there that it is an invalid option, or `undefined`, which no JSON holds; and of
 * one that stands twice in a query that it is a list.
 */
function inWords(message: string, { where, value }: { readonly where: string; readonly value: unknown }): string {
  if (where === 'query' && Array.isArray(value)) return 'sent more than once: send it once';
  if (value !== undefined) return message;
  return message.replace(/^Invalid (?:input|option)(?:: (expected .+?))?(?:, received \w+)?$/, (_, wanted?: string) =>
    wanted === undefined ? 'is missing' : `is missing: ${wanted}`,
  );
}

function bodySchema(route: RouteConfig): unknown {
  const [content] = Object.values(route.request?.body?.content ?? {});
  return content && 'schema' in content ? content.schema : undefined;
}
