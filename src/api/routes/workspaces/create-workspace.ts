import { createRoute } from '@hono/zod-openapi';
import { createWorkspace as create } from '../../../content/index.js';
import { CreateWorkspaceBody, WorkspaceBody } from '../../../contract/workspaces.js';
import { defineRoute } from '../../define-route.js';
import { createdResponse, jsonBody } from '../../schemas.js';
import { MAX_TREE_BODY_BYTES, toSourceFiles } from '../../source-files.js';

export const createWorkspace = defineRoute({
  access: { role: 'admin' },
  idempotent: 'settled',
  maxBodyBytes: MAX_TREE_BODY_BYTES,
  route: createRoute({
    method: 'post',
    path: '/api/workspaces',
    summary: 'Create a workspace',
    tags: ['Workspaces'],
    request: { body: jsonBody(CreateWorkspaceBody) },
    responses: createdResponse(WorkspaceBody, 'The new workspace'),
  }),
  handle: async (c) => {
    const { files, ...body } = c.req.valid('json');
    const input = { ...body, ...(files && { files: toSourceFiles(files) }), recordAnswer: c.var.recordAnswer?.(201) };
    return c.json(await create(c.var.deps, c.var.caller, input), 201);
  },
});
