import { createRoute } from '@hono/zod-openapi';
import { listWorkspaces as list } from '../../../content/index.js';
import { WorkspaceList } from '../../../contract/workspaces.js';
import { defineRoute } from '../../define-route.js';
import { okResponse, Page } from '../../schemas.js';

export const listWorkspaces = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'get',
    path: '/api/workspaces',
    summary: 'List workspaces',
    tags: ['Workspaces'],
    request: { query: Page },
    responses: okResponse(WorkspaceList, 'By name'),
  }),
  handle: async (c) => c.json(await list(c.var.deps, c.var.caller, c.req.valid('query')), 200),
});
