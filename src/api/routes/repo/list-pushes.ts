import { createRoute } from '@hono/zod-openapi';
import { CodePushes } from '../../../contract/code-host.js';
import { listPushes } from '../../../remotes/index.js';
import { defineRoute } from '../../define-route.js';
import { okResponse, Page, WorkspaceParams } from '../../schemas.js';

export const getCodePushes = defineRoute({
  access: { role: 'admin' },
  route: createRoute({
    method: 'get',
    path: '/api/workspaces/{ws}/repo/pushes',
    summary: 'The pushes of code hosts, newest first, with what became of each',
    tags: ['Repo'],
    request: { params: WorkspaceParams, query: Page },
    responses: okResponse(CodePushes),
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    return c.json(await listPushes(c.var.deps, c.var.caller, { workspace, ...c.req.valid('query') }), 200);
  },
});
