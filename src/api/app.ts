import { OpenAPIHono } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import { requestId } from 'hono/request-id';
import { secureHeaders } from 'hono/secure-headers';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Deps } from '../deps.js';
import { SESSION_COOKIE } from '../people/index.js';
import { toJson } from '../shared/exact-json.js';
import { redactTokens } from '../shared/log.js';
import { Refusal } from '../shared/refusal.js';
import { hasClientLeft } from './client-left.js';
import type { Route } from './define-route.js';
import type { AppEnv } from './env.js';
import { onError } from './errors.js';
import { routes as allRoutes } from './routes/index.js';
import { useValidatorMessages } from './validator-messages.js';

const unknown = new Refusal('not_found', 'no such route; the routes are listed at /docs/openapi.json');

/** One line per request, without headers and body, and with tokens in the address redacted. */
const requestLog: MiddlewareHandler<AppEnv> = async (c, next) => {
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

export type App = OpenAPIHono<AppEnv>;

/** Replaces the framework's JSON writer, which cannot write large integers as numbers. */
function answerExactly(c: Context): void {
  const json = (value: unknown, status?: ContentfulStatusCode, headers?: Record<string, string>) =>
    c.body(toJson(value), status, { 'Content-Type': 'application/json', ...headers });
  c.json = json as unknown as typeof c.json;
}

/** The whole API over these deps. Tests pass their own route table. */
export function createApp(deps: Deps, routes: readonly Route[] = allRoutes): App {
  useValidatorMessages();
  const app = new OpenAPIHono<AppEnv>();
  app.openAPIRegistry.registerComponent('securitySchemes', 'bearer', {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key',
  });
  app.openAPIRegistry.registerComponent('securitySchemes', 'session', {
    type: 'apiKey',
    in: 'cookie',
    name: SESSION_COOKIE,
    description: 'A signed-in person; a write must come from the same origin',
  });
  app.use(requestId());
  app.use(async (c, next) => {
    c.set('app', app);
    c.set('deps', deps);
    c.set('log', deps.log.child({ requestId: c.var.requestId }));
    answerExactly(c);
    await next();
    // Set it after the handler: a response it creates itself (a file, a stream) has none of the headers set before.
    c.header('X-Request-Id', c.var.requestId);
    c.header('Service-Version', deps.config.version);
  });
  app.use(requestLog);
  app.use(
    secureHeaders({
      overwrite: false,
      strictTransportSecurity: deps.config.publicUrl?.startsWith('https:') ? 'max-age=15552000' : false,
      contentSecurityPolicy: {
        defaultSrc: ["'none'"],
        frameAncestors: ["'none'"],
        formAction: ["'none'"],
        baseUri: ["'none'"],
      },
    }),
  );
  app.onError(onError);
  app.notFound(createNotFound(routes));
  for (const route of routes) route.register(app);
  return app;
}

/** Unmatched requests: 405 with the allowed methods when the path exists, else 404. */
function createNotFound(routes: readonly Route[]): (c: Context<AppEnv>) => Response | Promise<Response> {
  const paths = routes.map(({ method, path }) => ({ method: method.toUpperCase(), pattern: patternOf(path) }));
  return (c) => {
    const { path, method } = c.req;
    const methods = paths.filter(({ pattern }) => pattern.test(path)).map((row) => row.method);
    return onError(methods.length === 0 ? unknown : notAllowed(method, methods), c);
  };
}

function notAllowed(method: string, methods: readonly string[]): Refusal {
  const allow = [...new Set(methods.includes('GET') ? [...methods, 'HEAD'] : methods)].sort();
  return new Refusal('method_not_allowed', `${method} is not allowed here; allowed: ${allow.join(', ')}`, { allow });
}

function patternOf(path: string): RegExp {
  const source = path.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{[^}]+\}/g, '[^/]+');
  return new RegExp(`^${source}$`);
}
