import type { MiddlewareHandler } from 'hono';
import { redactTokens } from '../shared/log.js';
import { hasClientLeft } from './client-left.js';
import type { AppEnv } from './env.js';

/** One line a request. Neither a header nor a body is in it, and a token in the address is cut. */
export const requestLog: MiddlewareHandler<AppEnv> = async (c, next) => {
  const startedAt = performance.now();
  await next();
  const { pathname, search } = new URL(c.req.url);
  const fields = {
    method: c.req.method,
    path: redactTokens(pathname + search),
    status: c.res.status,
    // The status says what became of the work; this, that the client did not wait for it.
    ...(hasClientLeft(c) && { clientLeft: true }),
    ms: Math.round(performance.now() - startedAt),
    ...(c.var.caller && { tenant: c.var.caller.tenant, actor: c.var.caller.actor.id }),
  };
  c.var.log.info(fields, 'request');
};
