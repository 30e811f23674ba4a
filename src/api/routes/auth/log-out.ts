import { createRoute } from '@hono/zod-openapi';
import { Done } from '../../../contract/auth.js';
import { logOut, sessionCookie } from '../../../people/index.js';
import { defineRoute } from '../../define-route.js';
import { okResponse } from '../../schemas.js';

export const postLogout = defineRoute({
  access: { role: 'viewer', person: true },
  idempotent: 'natural',
  route: createRoute({
    method: 'post',
    path: '/api/auth/logout',
    summary: 'End the session',
    tags: ['Authentication'],
    responses: okResponse(Done),
  }),
  handle: async (c) => {
    await logOut(c.var.deps, c.var.caller);
    c.header('Set-Cookie', sessionCookie(c.var.deps.config, null));
    return c.json({ ok: true as const }, 200);
  },
});
