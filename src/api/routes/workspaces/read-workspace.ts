import { createRoute } from '@hono/zod-openapi';
import { readWorkspace as read } from '../../../content/index.js';
import { WorkspaceBody } from '../../../contract/workspaces.js';
import { defineRoute } from '../../define-route.js';
import { okResponse, WorkspaceParams } from '../../schemas.js';

export const readWorkspace = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'get',
    path: '/api/workspaces/{ws}',
    summary: 'Read a workspace',
    tags: ['Workspaces'],
    request: { params: WorkspaceParams },
    responses: okResponse(WorkspaceBody, 'The workspace'),
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    return c.json(await read(c.var.deps, c.var.caller, { workspace }), 200);
  },
});
