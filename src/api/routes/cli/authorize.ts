import { createRoute } from '@hono/zod-openapi';
import { CliCodeQuery, CliDecided, CliDecisionBody, CliLoginRequest } from '../../../contract/auth.js';
import { checkCliFormNonce, cliFormNonce, decideCliLogin, describeCliLogin } from '../../../people/index.js';
import { Refusal } from '../../../shared/refusal.js';
import { defineRoute } from '../../define-route.js';
import { authorizeCliPage, decidedCliPage } from '../../pages/authorize-cli.js';
import { setPageHeaders } from '../../pages/page.js';
import { limitedResponse } from '../../schemas.js';

const html = { 'text/html': { schema: { type: 'string' as const } } };

export const getCliAuthorize = defineRoute({
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

export const postCliAuthorize = defineRoute({
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
