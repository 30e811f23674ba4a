import { createRoute } from '@hono/zod-openapi';
import { TeamBody } from '../../../contract/team.js';
import { listTeam } from '../../../people/index.js';
import { defineRoute } from '../../define-route.js';
import { okResponse, Page } from '../../schemas.js';

export const getTeam = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'get',
    path: '/api/team',
    summary: 'The members of the account, and the invites that are open',
    tags: ['Account'],
    request: { query: Page },
    responses: okResponse(TeamBody),
  }),
  handle: async (c) => c.json(await listTeam(c.var.deps, c.var.caller, c.req.valid('query')), 200),
});
