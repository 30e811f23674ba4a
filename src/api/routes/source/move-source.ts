import { createRoute } from '@hono/zod-openapi';
import { moveSource as move } from '../../../content/index.js';
import { MoveSourceBody, SourceEditBody } from '../../../contract/source.js';
import { defineRoute } from '../../define-route.js';
import { etagOf, readPrecondition } from '../../preconditions.js';
import { jsonBody, okResponse, WorkspaceParams } from '../../schemas.js';

export const moveSource = defineRoute({
  access: { role: 'editor' },
  reads: ['If-Match', 'If-None-Match'],
  sends: ['ETag'],
  route: createRoute({
    method: 'patch',
    path: '/api/workspaces/{ws}/source',
    summary: 'Move one file',
    tags: ['Source'],
    request: { params: WorkspaceParams, body: jsonBody(MoveSourceBody) },
    responses: okResponse(SourceEditBody, 'What changed'),
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    const input = { workspace, ...c.req.valid('json'), expect: readPrecondition(c) };
    const edit = await move(c.var.deps, c.var.caller, input);
    if (edit.sha !== null) c.header('ETag', etagOf(edit.sha));
    return c.json(edit, 200);
  },
});
