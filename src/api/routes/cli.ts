import { createRoute } from '@hono/zod-openapi';
import {
  CliCodeQuery,
  CliDecided,
  CliDecisionBody,
  CliLoginBody,
  CliLoginParams,
  CliLoginPolled,
  CliLoginRequest,
  CliLoginStarted,
} from '../../contract/auth.js';
import { ErrorBody } from '../../contract/common.js';
import {
  checkCliFormNonce,
  cliFormNonce,
  decideCliLogin,
  describeCliLogin,
  pollCliLogin,
  startCliLogin,
} from '../../people/index.js';
import { Refusal } from '../../shared/refusal.js';
import { clientAddress } from '../auth/client-address.js';
import { defineRoute, type Route } from '../define-route.js';
import { authorizeCliPage, decidedCliPage } from '../pages/authorize-cli.js';
import { setPageHeaders } from '../pages/page.js';
import { jsonBody, jsonResponse, limitedResponse, okResponse } from '../schemas.js';

const html = { 'text/html': { schema: { type: 'string' as const } } };

const getCliAuthorize = defineRoute({
  access: { role: 'viewer', person: true },
  page: true,
  route: createRoute({
    method: 'get',
    path: '/api/cli/authorize',
    summary: 'What a terminal’s sign-in asks; a page to decide it where Accept prefers HTML',
    tags: ['Authentication'],
    request: { query: CliCodeQuery },
    responses: {
      200: { description: 'The request', content: { 'application/json': { schema: CliLoginRequest }, ...html } },
      ...limitedResponse,
    },
  }),
  handle: async (c) => {
    const { deps, caller, page } = c.var;
    const { code } = c.req.valid('query');
    const request = await describeCliLogin(deps, caller, code);
    setPageHeaders(c);
    if (!page) return c.json(request, 200);
    const nonce = cliFormNonce(deps, caller, code);
    return c.html(authorizeCliPage(request, { email: caller.actor.label, nonce }), 200);
  },
});

const postCliAuthorize = defineRoute({
  access: { role: 'viewer', person: true },
  page: true,
  route: createRoute({
    method: 'post',
    path: '/api/cli/authorize',
    summary: 'Approve or deny a terminal’s sign-in',
    tags: ['Authentication'],
    request: {
      body: {
        content: {
          'application/json': { schema: CliDecisionBody },
          'application/x-www-form-urlencoded': { schema: CliDecisionBody },
        },
      },
    },
    responses: {
      200: { description: 'Decided', content: { 'application/json': { schema: CliDecided }, ...html } },
      ...limitedResponse,
    },
  }),
  handle: async (c) => {
    const { deps, caller, page } = c.var;
    // Each is empty when the body has the other type or none.
    const [form, json] = [c.req.valid('form'), c.req.valid('json')];
    const isForm = form.code !== undefined;
    if (isForm) checkCliFormNonce(deps, caller, { code: form.code, nonce: form.nonce ?? '' });
    else if (json.code === undefined)
      throw new Refusal('unsupported_type', 'send { code, decision } as JSON, with Content-Type: application/json');
    const decision = isForm ? form : json;
    const status = await decideCliLogin(deps, caller, decision);
    setPageHeaders(c);
    return page ? c.html(decidedCliPage(status), 200) : c.json({ ok: true as const, status }, 200);
  },
});

const postCliLogin = defineRoute({
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

const getCliLogin = defineRoute({
  access: 'open',
  route: createRoute({
    method: 'get',
    path: '/api/cli/login/{id}',
    summary: 'The state of a terminal’s sign-in; an approved one returns its key, once',
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

export const cliRoutes: readonly Route[] = [postCliLogin, getCliLogin, getCliAuthorize, postCliAuthorize];
