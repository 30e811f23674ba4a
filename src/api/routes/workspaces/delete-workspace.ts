import { createRoute } from '@hono/zod-openapi';
import { deleteWorkspace as remove } from '../../../content/index.js';
import { DeletedWorkspaceBody, ForceQuery } from '../../../contract/workspaces.js';
import { defineRoute } from '../../define-route.js';
import { okResponse, WorkspaceParams } from '../../schemas.js';

export const deleteWorkspace = defineRoute({
  access: { role: 'admin' },
  route: createRoute({
    method: 'delete',
    path: '/api/workspaces/{ws}',
    summary: 'Delete a workspace',
    tags: ['Workspaces'],
    request: { params: WorkspaceParams, query: ForceQuery },
    responses: okResponse(DeletedWorkspaceBody, 'What was deleted'),
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    const force = c.req.valid('query').force === 'true';
    return c.json(await remove(c.var.deps, c.var.caller, { workspace, force }), 200);
  },
});
