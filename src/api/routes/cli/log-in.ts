import { createRoute } from '@hono/zod-openapi';
import { CliLoginBody, CliLoginParams, CliLoginPolled, CliLoginStarted } from '../../../contract/auth.js';
import { ErrorBody } from '../../../contract/common.js';
import { pollCliLogin, startCliLogin } from '../../../people/index.js';
import { Refusal } from '../../../shared/refusal.js';
import { clientAddress } from '../../auth/client-address.js';
import { defineRoute } from '../../define-route.js';
import { jsonBody, jsonResponse, limitedResponse, okResponse } from '../../schemas.js';

export const postCliLogin = defineRoute({
  access: 'open',
  route: createRoute({
    method: 'post',
    path: '/api/cli/login',
    summary: 'Begin to sign a terminal in',
    tags: ['Authentication'],
    request: { body: jsonBody(CliLoginBody) },
    responses: { ...okResponse(CliLoginStarted, 'Show the code and the address to the person'), ...limitedResponse },
  }),
  handle: async (c) => {
    const base = c.var.deps.config.publicUrl ?? new URL(c.req.url).origin;
    const { hostname } = c.req.valid('json');
    c.header('Cache-Control', 'no-store');
    return c.json(await startCliLogin(c.var.deps, { hostname, address: clientAddress(c), base }), 200);
  },
});

export const getCliLogin = defineRoute({
  access: 'open',
  route: createRoute({
    method: 'get',
    path: '/api/cli/login/{id}',
    summary: 'What became of a terminal’s sign-in; an approved one gives its key, once',
    tags: ['Authentication'],
    request: { params: CliLoginParams },
    responses: {
      ...okResponse(CliLoginPolled, 'The state of the sign-in'),
      405: jsonResponse(ErrorBody, 'HEAD is refused: the key is in the body, and is given once'),
      ...limitedResponse,
    },
  }),
  handle: async (c) => {
    // HEAD would drop the body and with it the key, which is given only once.
    if (c.req.method === 'HEAD')
      throw new Refusal('method_not_allowed', 'ask with GET: the key is in the body', { allow: ['GET'] });
    c.header('Cache-Control', 'no-store');
    const { id } = c.req.valid('param');
    return c.json(await pollCliLogin(c.var.deps, { id, address: clientAddress(c) }), 200);
  },
});
