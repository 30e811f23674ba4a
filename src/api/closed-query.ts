import type { RouteConfig } from '@hono/zod-openapi';
import { z } from 'zod';
import type { Access } from './env.js';

/**
 * A route that writes for a caller takes no key in its query that it does not know: `?setp=1` passed over would delete
 * the whole flow. What deletes is closed even without a query of its own. A route that carries its own proof stays
 * open: whoever is outside may have put more into its address.
 */
export function withClosedQuery<R extends RouteConfig>(access: Access, route: R): R {
  if (typeof access !== 'object' || route.method === 'get' || route.method === 'head') return route;
  const query = route.request?.query ?? (route.method === 'delete' ? z.object({}) : undefined);
  return query instanceof z.ZodObject ? { ...route, request: { ...route.request, query: query.strict() } } : route;
}
