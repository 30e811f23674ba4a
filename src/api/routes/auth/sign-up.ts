import { createRoute } from '@hono/zod-openapi';
import { SignedUp, SignUpBody } from '../../../contract/auth.js';
import { signUp } from '../../../people/index.js';
import { clientAddress } from '../../auth/client-address.js';
import { refuseForeignPage } from '../../auth/same-origin.js';
import { defineRoute } from '../../define-route.js';
import { acceptedResponse, jsonBody, limitedResponse } from '../../schemas.js';

export const postSignup = defineRoute({
  access: 'open',
  route: createRoute({
    method: 'post',
    path: '/api/auth/signup',
    summary: 'Sign up: an account of one’s own, or into one by an invite',
    tags: ['Authentication'],
    request: { body: jsonBody(SignUpBody) },
    responses: {
      ...acceptedResponse(SignedUp, 'The same whether or not the address was taken: only a sign-in shows it'),
      ...limitedResponse,
    },
  }),
  handle: async (c) => {
    refuseForeignPage(c);
    const { email, password, account = null, invite = null } = c.req.valid('json');
    await signUp(c.var.deps, { email, password, account, invite, address: clientAddress(c) });
    return c.json({ ok: true as const, next: 'sign in: POST /api/auth/login' }, 202);
  },
});
