import { createRoute } from '@hono/zod-openapi';
import { RunParams, WorkspaceParams } from '../../../contract/common.js';
import { Ok, RunList, RunsQuery, RunView } from '../../../contract/runs.js';
import { deleteRun, getRun, listRuns } from '../../../runs/index.js';
import { defineRoute } from '../../define-route.js';
import { okResponse } from '../../schemas.js';
import { findRunOfPath } from './params.js';

export const getRuns = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'get',
    path: '/api/workspaces/{ws}/runs',
    summary: 'The runs, newest first',
    tags: ['Runs'],
    request: { params: WorkspaceParams, query: RunsQuery },
    responses: okResponse(RunList),
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    return c.json(await listRuns(c.var.deps, c.var.caller, { workspace, ...c.req.valid('query') }), 200);
  },
});

export const getOneRun = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'get',
    path: '/api/workspaces/{ws}/runs/{id}',
    summary: 'The whole run: every step with its output, cost, timing and trace',
    tags: ['Runs'],
    request: { params: RunParams },
    responses: okResponse(RunView),
  }),
  handle: async (c) => {
    const { ws: workspace, id: runId } = c.req.valid('param');
    return c.json(await getRun(c.var.deps, c.var.caller, { workspace, runId }), 200);
  },
});

export const deleteOneRun = defineRoute({
  access: { role: 'editor' },
  find: findRunOfPath,
  route: createRoute({
    method: 'delete',
    path: '/api/workspaces/{ws}/runs/{id}',
    summary: 'Delete an ended run',
    tags: ['Runs'],
    request: { params: RunParams },
    responses: okResponse(Ok),
  }),
  handle: async (c) => {
    const { ws: workspace, id: runId } = c.req.valid('param');
    return c.json(await deleteRun(c.var.deps, c.var.caller, { workspace, runId }), 200);
  },
});
