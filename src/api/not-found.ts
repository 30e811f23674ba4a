import type { Context } from 'hono';
import { Refusal } from '../shared/refusal.js';
import type { Route } from './define-route.js';
import type { AppEnv } from './env.js';
import { onError } from './errors.js';

/** Unmatched requests: 405 with the allowed methods when the path exists, else 404. */
export function createNotFound(routes: readonly Route[]): (c: Context<AppEnv>) => Response | Promise<Response> {
  const paths = routes.map(({ method, path }) => ({ method: method.toUpperCase(), pattern: patternOf(path) }));
  return (c) => {
    const { path, method } = c.req;
    const methods = paths.filter(({ pattern }) => pattern.test(path)).map((row) => row.method);
    return onError(methods.length === 0 ? unknown : notAllowed(method, methods), c);
  };
}

const unknown = new Refusal('not_found', 'no such route; the routes are listed at /docs/openapi.json');

function notAllowed(method: string, methods: readonly string[]): Refusal {
  const allow = [...new Set(methods.includes('GET') ? [...methods, 'HEAD'] : methods)].sort();
  return new Refusal('method_not_allowed', `${method} is not allowed here; allowed: ${allow.join(', ')}`, { allow });
}

function patternOf(path: string): RegExp {
  const source = path.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{[^}]+\}/g, '[^/]+');
  return new RegExp(`^${source}$`);
}
