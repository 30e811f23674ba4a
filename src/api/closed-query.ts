import type { RouteConfig } from '@hono/zod-openapi';
import { z } from 'zod';
import type { Access } from './env.js';

/** What must not ignore a key: `?tags=a` would list everything, and `?setp=1` would delete the whole flow. */
const CLOSED_WITHOUT_QUERY = ['get', 'delete'];

/**
 * A route refuses a key of its query that it does not know. Reads and deletes are closed even without a query of their
 * own. Two kinds of routes stay open: one that carries its own proof, since its address is given to others, who add to
 * it; and one whose query is a loose object, since it says that it ignores what else is there.
 */
export function withClosedQuery<R extends RouteConfig>(access: Access, route: R): R {
  if (access === 'token') return route;
  const query = route.request?.query ?? (CLOSED_WITHOUT_QUERY.includes(route.method) ? z.object({}) : undefined);
  const isClosable = query instanceof z.ZodObject && query.def.catchall === undefined;
  return isClosable ? { ...route, request: { ...route.request, query: query.strict() } } : route;
}

/** The query of a page or a probe, whose address others add to: mail programs, monitors, proxies. */
export const AnyQuery = z.looseObject({});
