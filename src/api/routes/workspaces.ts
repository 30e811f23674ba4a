import { createRoute } from '@hono/zod-openapi';
import {
  changeWorkspace as change,
  createWorkspace as create,
  listWorkspaces as list,
  readWorkspace as read,
  deleteWorkspace as remove,
} from '../../content/index.js';
import {
  ChangedWorkspaceBody,
  ChangeWorkspaceBody,
  CreateWorkspaceBody,
  DeletedWorkspaceBody,
  ForceQuery,
  WorkspaceBody,
  WorkspaceList,
} from '../../contract/workspaces.js';
import type { Json } from '../../shared/json.js';
import { defineRoute, type Route } from '../define-route.js';
import { createdResponse, jsonBody, okResponse, Page, WorkspaceParams } from '../schemas.js';
import { sentBody } from '../sent-body.js';
import { MAX_TREE_BODY_BYTES, toSourceFiles } from '../source-files.js';

const changeWorkspace = defineRoute({
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

const createWorkspace = defineRoute({
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

const deleteWorkspace = defineRoute({
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

const listWorkspaces = defineRoute({
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

const readWorkspace = defineRoute({
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

export const workspaceRoutes: readonly Route[] = [
  listWorkspaces,
  createWorkspace,
  readWorkspace,
  changeWorkspace,
  deleteWorkspace,
];
