import type { RouteConfig } from '@hono/zod-openapi';
import { z } from 'zod';
import type { Access } from './env.js';

/**
 * Methods where an ignored key does harm: `?tags=a` would list everything, and `?setp=1` would delete the whole flow.
 */
const CLOSED_WITHOUT_QUERY = ['get', 'delete'];

/**
 * Makes a route refuse unknown query keys; reads and deletes do so even without a query schema. Two kinds of routes
 * accept them: routes with a token in the address, which other programs extend, and routes whose query is a loose
 * object.
 */
export function withClosedQuery<R extends RouteConfig>(access: Access, route: R): R {
  if (access === 'token') return route;
  const query = route.request?.query ?? (CLOSED_WITHOUT_QUERY.includes(route.method) ? z.object({}) : undefined);
  const isClosable = query instanceof z.ZodObject && query.def.catchall === undefined;
  return isClosable ? { ...route, request: { ...route.request, query: query.strict() } } : route;
}

/** The query of a page or a probe: mail programs, monitors and proxies add keys to such addresses. */
export const AnyQuery = z.looseObject({});
