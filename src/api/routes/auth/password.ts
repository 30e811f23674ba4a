import { createRoute } from '@hono/zod-openapi';
import { Ended, PasswordBody } from '../../../contract/auth.js';
import { changePassword } from '../../../people/index.js';
import { defineRoute } from '../../define-route.js';
import { jsonBody, limitedResponse, okResponse } from '../../schemas.js';

export const postPassword = defineRoute({
  access: { role: 'viewer', person: true },
  route: createRoute({
    method: 'post',
    path: '/api/auth/password',
    summary: 'Change one’s password, which ends one’s other sessions',
    tags: ['Authentication'],
    request: { body: jsonBody(PasswordBody) },
    responses: { ...okResponse(Ended, 'How many other sessions ended'), ...limitedResponse },
  }),
  handle: async (c) => {
    const ended = await changePassword(c.var.deps, c.var.caller, c.req.valid('json'));
    return c.json({ ok: true as const, ended }, 200);
  },
});
