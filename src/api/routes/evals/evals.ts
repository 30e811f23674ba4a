import { createRoute } from '@hono/zod-openapi';
import { Page, WorkspaceParams } from '../../../contract/common.js';
import { CreatedEval, CreateEval, EvalList, EvalParams, RunEval, StartedEval } from '../../../contract/evals.js';
import { createEval, listEvals, runEval } from '../../../evals/index.js';
import { defineRoute } from '../../define-route.js';
import { acceptedResponse, createdResponse, jsonBody, okResponse, spentResponse } from '../../schemas.js';
import { findEvalOfPath } from './params.js';

export const getEvals = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'get',
    path: '/api/workspaces/{ws}/evals',
    summary: 'The evals of the live revision, each with its newest run',
    tags: ['Evals'],
    request: { params: WorkspaceParams, query: Page },
    responses: okResponse(EvalList),
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    return c.json(await listEvals(c.var.deps, c.var.caller, { workspace, ...c.req.valid('query') }), 200);
  },
});

export const postEval = defineRoute({
  access: { role: 'editor' },
  idempotent: true,
  route: createRoute({
    method: 'post',
    path: '/api/workspaces/{ws}/evals',
    summary: 'Make an eval’s document from a template: a deploy of that one file',
    tags: ['Evals'],
    request: { params: WorkspaceParams, body: jsonBody(CreateEval) },
    responses: createdResponse(CreatedEval),
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    const created = await createEval(c.var.deps, c.var.caller, { workspace, ...c.req.valid('json') });
    return c.json(created, 201);
  },
});

export const postEvalRun = defineRoute({
  access: { role: 'editor' },
  idempotent: 'settled',
  find: findEvalOfPath,
  route: createRoute({
    method: 'post',
    path: '/api/workspaces/{ws}/evals/{eval}/run',
    summary: 'Run an eval, or some of its cases',
    tags: ['Evals'],
    request: { params: EvalParams, body: jsonBody(RunEval) },
    responses: { ...acceptedResponse(StartedEval, 'The eval run is kept, and goes on by itself'), ...spentResponse },
  }),
  handle: async (c) => {
    const { ws: workspace, eval: name } = c.req.valid('param');
    const input = { workspace, eval: name, ...c.req.valid('json'), recordAnswer: c.var.recordAnswer?.(202) };
    return c.json(await runEval(c.var.deps, c.var.caller, input), 202);
  },
});
