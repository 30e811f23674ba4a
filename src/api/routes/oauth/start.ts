import { createRoute } from '@hono/zod-openapi';
import { StartConnectionBody, StartedConnection } from '../../../contract/oauth.js';
import { startConnection } from '../../../secrets/index.js';
import { defineRoute } from '../../define-route.js';
import { jsonBody, okResponse } from '../../schemas.js';
import { readNonce, setNonce } from './nonce-cookie.js';

export const startOAuth = defineRoute({
  access: { role: 'admin', person: true },
  sends: ['Set-Cookie'],
  route: createRoute({
    method: 'post',
    path: '/api/oauth/start',
    summary: 'Begin a connection: where the person agrees, in this browser, within ten minutes',
    tags: ['OAuth'],
    request: { body: jsonBody(StartConnectionBody) },
    responses: okResponse(StartedConnection),
  }),
  handle: async (c) => {
    const input = { ...c.req.valid('json'), nonce: readNonce(c) };
    const { nonce, ...started } = await startConnection(c.var.deps, c.var.caller, input);
    setNonce(c, nonce);
    c.header('Cache-Control', 'no-store');
    return c.json(started, 200);
  },
});
