import { createRoute } from '@hono/zod-openapi';
import { changeWorkspace as change } from '../../../content/index.js';
import { ChangedWorkspaceBody, ChangeWorkspaceBody } from '../../../contract/workspaces.js';
import type { Json } from '../../../shared/json.js';
import { defineRoute } from '../../define-route.js';
import { jsonBody, okResponse, WorkspaceParams } from '../../schemas.js';
import { sentBody } from '../../sent-body.js';

export const changeWorkspace = defineRoute({
  access: { role: 'editor' },
  needs: async (c) => ('name' in (await sentBody(c)) ? 'admin' : null),
  route: createRoute({
    method: 'patch',
    path: '/api/workspaces/{ws}',
    summary: 'Set defaults of the workspace, null clears one; a new name needs an admin',
    tags: ['Workspaces'],
    request: { params: WorkspaceParams, body: jsonBody(ChangeWorkspaceBody) },
    responses: okResponse(ChangedWorkspaceBody, 'The workspace as it is now'),
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    const { name, ...rest } = c.req.valid('json');
    const keys = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)) as Record<
      string,
      Json
    >;
    return c.json(await change(c.var.deps, c.var.caller, { workspace, name, keys }), 200);
  },
});
