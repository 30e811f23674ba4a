import { createRoute, z } from '@hono/zod-openapi';
import { html } from 'hono/html';
import { AnyQuery } from '../closed-query.js';
import { defineRoute, type Route } from '../define-route.js';
import { openApiDocument } from '../openapi.js';
import { okResponse, rawResponse } from '../schemas.js';

/** No scripts and no requests. */
const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; form-action 'none'; base-uri 'none'";

const getHome = defineRoute({
  access: 'open',
  route: createRoute({
    method: 'get',
    path: '/',
    summary: 'A page that says that the service runs, and where to continue',
    tags: ['Operations'],
    request: { query: AnyQuery },
    responses: { 200: rawResponse('text/html', 'The page') },
  }),
  handle: async (c) => {
    c.header('Content-Security-Policy', POLICY);
    c.header('Cache-Control', 'no-store');
    const { version, publicUrl } = c.var.deps.config;
    return c.html(await page(version, new URL('/api/me', publicUrl ?? c.req.url).href));
  },
});

const Document = z.looseObject({ openapi: z.string() });

const description = {
  method: 'get' as const,
  summary: 'This description of the API',
  tags: ['Operations'],
  responses: okResponse(Document, 'OpenAPI 3.1'),
};

const getOpenApi = defineRoute({
  access: 'open',
  route: createRoute({ ...description, path: '/docs/openapi.json' }),
  handle: async (c) => c.json(openApiDocument(c.var.app, c.var.deps.config), 200),
});

const getApiOpenApi = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({ ...description, path: '/api/openapi.json' }),
  handle: async (c) => c.json(openApiDocument(c.var.app, c.var.deps.config), 200),
});

export const docsRoutes: readonly Route[] = [getHome, getOpenApi, getApiOpenApi];

function page(version: string, me: string) {
  return html`<!doctype html>
<html lang="en">
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Signalbox</title>
  <style>
    body { font: 1rem/1.6 system-ui, sans-serif; max-width: 42rem; margin: 4rem auto; padding: 0 1.25rem; color: #1b1f24; background: #fbfaf7; }
    h1 { font-size: 1.5rem; margin: 0 0 .25rem; }
    code, pre { font: .9em ui-monospace, monospace; background: #efede6; border-radius: .25rem; }
    code { padding: .1em .3em; }
    pre { padding: .75rem 1rem; overflow-x: auto; }
    a { color: #0b57a4; }
    @media (prefers-color-scheme: dark) {
      body { color: #e8e6e1; background: #16181b; }
      code, pre { background: #24272c; }
      a { color: #8cc2ff; }
    }
  </style>
  <main>
    <h1>Signalbox is running</h1>
    <p>Version ${version}. Everything is done through its API; this version has no dashboard.</p>
    <p>The routes are described in <a href="/docs/openapi.json">/docs/openapi.json</a> (OpenAPI 3.1), and
      <a href="/api/healthz">/api/healthz</a> shows how each part of the service is.</p>
    <p>Who has an account here signs in at <a href="/sign-in">/sign-in</a>, and gives a terminal its own key from there; the
      documentation describes it in docs/guides/accounts-and-team.md.</p>
    <p>The first start wrote an API key to <code>bootstrap.json</code> in the data folder
      (<code>.data</code> unless <code>SERVICE_DATA_DIR</code> says otherwise), readable by the service's user only. With it:</p>
    <pre>curl -H "Authorization: Bearer $KEY" ${me}</pre>
  </main>
</html>
`;
}
