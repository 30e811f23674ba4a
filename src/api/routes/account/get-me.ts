import { createRoute } from '@hono/zod-openapi';
import { Me } from '../../../contract/accounts.js';
import { whoAmI } from '../../../people/index.js';
import { defineRoute } from '../../define-route.js';
import { okResponse } from '../../schemas.js';

export const getMe = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'get',
    path: '/api/me',
    summary: 'The calling identity',
    tags: ['Account'],
    responses: okResponse(Me, 'Who calls, and what they may do'),
  }),
  handle: async (c) => {
    // The response depends on the signed-in person.
    c.header('Cache-Control', 'no-store');
    return c.json(await whoAmI(c.var.deps, c.var.caller), 200);
  },
});
