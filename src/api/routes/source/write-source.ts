import { createRoute } from '@hono/zod-openapi';
import { writeSource as write } from '../../../content/index.js';
import { SourceEditBody, SourceQuery, WriteSourceBody } from '../../../contract/source.js';
import { defineRoute } from '../../define-route.js';
import { etagOf, readPrecondition } from '../../preconditions.js';
import { jsonBody, okResponse, WorkspaceParams } from '../../schemas.js';
import { onePath, toBytes } from '../../source-files.js';

export const writeSource = defineRoute({
  access: { role: 'editor' },
  reads: ['If-Match', 'If-None-Match'],
  sends: ['ETag'],
  route: createRoute({
    method: 'put',
    path: '/api/workspaces/{ws}/source',
    summary: 'Write one file',
    tags: ['Source'],
    request: { params: WorkspaceParams, query: SourceQuery, body: jsonBody(WriteSourceBody) },
    responses: okResponse(SourceEditBody, 'What changed'),
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    const { path: asked } = c.req.valid('query');
    const { path: sent, ...file } = c.req.valid('json');
    const path = onePath(asked, sent);
    const content = toBytes(file, 'body');
    const input = { workspace, path, content, expect: readPrecondition(c) };
    const edit = await write(c.var.deps, c.var.caller, input);
    if (edit.sha !== null) c.header('ETag', etagOf(edit.sha));
    return c.json(edit, 200);
  },
});
