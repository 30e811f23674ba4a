import { createRoute } from '@hono/zod-openapi';
import { removeSource as remove } from '../../../content/index.js';
import { SourceEditBody, SourcePathQuery } from '../../../contract/source.js';
import { defineRoute } from '../../define-route.js';
import { readPrecondition } from '../../preconditions.js';
import { okResponse, WorkspaceParams } from '../../schemas.js';

export const removeSource = defineRoute({
  access: { role: 'editor' },
  reads: ['If-Match', 'If-None-Match'],
  sends: ['ETag'],
  route: createRoute({
    method: 'delete',
    path: '/api/workspaces/{ws}/source',
    summary: 'Remove one file',
    tags: ['Source'],
    request: { params: WorkspaceParams, query: SourcePathQuery },
    responses: okResponse(SourceEditBody, 'What changed'),
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    const { path } = c.req.valid('query');
    const input = { workspace, path, expect: readPrecondition(c) };
    return c.json(await remove(c.var.deps, c.var.caller, input), 200);
  },
});
