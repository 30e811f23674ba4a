import type { MiddlewareHandler } from 'hono';
import { redactTokens } from '../shared/log.js';
import { hasClientLeft } from './client-left.js';
import type { AppEnv } from './env.js';

/** One line per request, without headers and body, and with tokens in the address redacted. */
export const requestLog: MiddlewareHandler<AppEnv> = async (c, next) => {
  const startedAt = performance.now();
  await next();
  const { pathname, search } = new URL(c.req.url);
  const fields = {
    method: c.req.method,
    path: redactTokens(pathname + search),
    status: c.res.status,
    // The status shows the outcome of the work; this shows that the client did not wait for it.
    ...(hasClientLeft(c) && { clientLeft: true }),
    ms: Math.round(performance.now() - startedAt),
    ...(c.var.caller && { tenant: c.var.caller.tenant, actor: c.var.caller.actor.id }),
  };
  c.var.log.info(fields, 'request');
};
