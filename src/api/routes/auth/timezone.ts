import { createRoute } from '@hono/zod-openapi';
import { Timezone, TimezoneBody } from '../../../contract/auth.js';
import { setTimezone } from '../../../people/index.js';
import { defineRoute } from '../../define-route.js';
import { jsonBody, okResponse } from '../../schemas.js';

export const postTimezone = defineRoute({
  access: { role: 'viewer', person: true },
  idempotent: 'natural',
  route: createRoute({
    method: 'post',
    path: '/api/auth/timezone',
    summary: 'Set one’s own time zone; null clears it',
    tags: ['Authentication'],
    request: { body: jsonBody(TimezoneBody) },
    responses: okResponse(Timezone),
  }),
  handle: async (c) => {
    const { timezone } = c.req.valid('json');
    await setTimezone(c.var.deps, c.var.caller, timezone);
    return c.json({ ok: true as const, timezone }, 200);
  },
});
