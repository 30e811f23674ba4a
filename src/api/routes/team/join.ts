import { createRoute } from '@hono/zod-openapi';
import { JoinForm, JoinQuery } from '../../../contract/join.js';
import { describeInvite, logIn, sessionCookie, signUp } from '../../../people/index.js';
import { clientAddress } from '../../auth/client-address.js';
import { refuseForeignPage } from '../../auth/same-origin.js';
import { browserOf } from '../../auth/session.js';
import { defineRoute } from '../../define-route.js';
import { joinPage } from '../../pages/join.js';
import { setPageHeaders } from '../../pages/page.js';
import { limitedResponse, rawResponse } from '../../schemas.js';

export const getJoin = defineRoute({
  access: 'open',
  page: true,
  route: createRoute({
    method: 'get',
    path: '/join',
    summary: 'The page of an invite’s link',
    tags: ['Authentication'],
    request: { query: JoinQuery },
    responses: { 200: rawResponse('text/html', 'The page') },
  }),
  handle: async (c) => {
    const { token } = c.req.valid('query');
    const invite = await describeInvite(c.var.deps, token);
    // The address holds the token, which only our own pages may receive as referrer.
    setPageHeaders(c, 'same-origin');
    return c.html(joinPage(invite, token));
  },
});

export const postJoin = defineRoute({
  access: 'open',
  page: true,
  sends: ['Set-Cookie'],
  route: createRoute({
    method: 'post',
    path: '/join',
    summary: 'Accept an invite by the page’s form: choose a password, and be signed in',
    tags: ['Authentication'],
    request: { body: { required: true, content: { 'application/x-www-form-urlencoded': { schema: JoinForm } } } },
    responses: { 303: { description: 'Signed in' }, ...limitedResponse },
  }),
  handle: async (c) => {
    refuseForeignPage(c);
    const { deps } = c.var;
    const { token: invite, password } = c.req.valid('form');
    const { email } = await describeInvite(deps, invite);
    await signUp(deps, { email, password, account: null, invite, address: clientAddress(c) });
    const { token } = await logIn(deps, { email, password }, browserOf(c));
    c.header('Set-Cookie', sessionCookie(deps.config, token));
    return c.redirect('/', 303);
  },
});
