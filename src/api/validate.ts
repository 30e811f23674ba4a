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

type Outcome = { readonly target: keyof typeof WHERE } & (
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
    const schema = where === 'body' ? bodySchema(route) : undefined;
    const all = outcome.error.issues.flatMap((issue) => faultsOf(issue, where, schema));
    const issues = all.slice(0, MAX_NAMED).map((name) => name());
    const more = all.length > 1 ? ` (and ${all.length - 1} more)` : '';
    await refuse(
      c,
      new Refusal('refused', `${issues[0]?.path}: ${issues[0]?.message}${more}`, { code: 'invalid', issues }),
    );
  };
}

/** Each fault is put in words only when it is named: a hint costs more than finding the fault did. */
function faultsOf(issue: ZodError['issues'][number], where: string, schema: unknown): (() => Fault)[] {
  const path = [where, ...issue.path.map(String)].join('.');
  if (issue.code !== 'unrecognized_keys') return [() => ({ path, message: inWords(issue.message) })];
  const known = keysAt(schema, issue.path);
  return issue.keys.map((key) => () => ({ path: `${path}.${key}`, message: unknownKey(key, known) }));
}

/** The library says of a key that is not there that it received `undefined`, which no JSON holds. */
function inWords(message: string): string {
  return message.replace(/^Invalid input: (expected .+), received undefined$/, 'is missing: $1');
}

function bodySchema(route: RouteConfig): unknown {
  const [content] = Object.values(route.request?.body?.content ?? {});
  return content && 'schema' in content ? content.schema : undefined;
}
