import { createRoute } from '@hono/zod-openapi';
import { ErrorBody, WorkspaceParams } from '../../contract/common.js';
import { TestTool, ToolTested } from '../../contract/tools.js';
import { requireTool, testTool as test } from '../../runs/index.js';
import { clientSignal } from '../client-left.js';
import { defineRoute, type Route } from '../define-route.js';
import { jsonBody, jsonResponse, okResponse } from '../schemas.js';
import { nameParam } from './runs.js';

const testTool = defineRoute({
  access: { role: 'editor' },
  idempotent: true,
  find: (c) => requireTool(c.var.deps, c.var.caller, c.req.param('ws') ?? '', c.req.param('tool') ?? ''),
  route: createRoute({
    method: 'post',
    path: '/api/workspaces/{ws}/tools/{tool}/test',
    summary: 'Call a tool as a run would, without a model',
    tags: ['Tools'],
    request: { params: WorkspaceParams.extend({ tool: nameParam('The tool’s name') }), body: jsonBody(TestTool) },
    responses: {
      ...okResponse(ToolTested, 'What the tool answered, well or not'),
      429: jsonResponse(ErrorBody, 'Too many tests at once'),
    },
  }),
  handle: async (c) => {
    const { ws: workspace, tool } = c.req.valid('param');
    const { args = {}, path } = c.req.valid('json');
    const input = { workspace, tool, args, path, signal: clientSignal(c) };
    return c.json(await test(c.var.deps, c.var.caller, input), 200);
  },
});

export const toolRoutes: readonly Route[] = [testTool];
