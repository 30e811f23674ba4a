import { createRoute } from '@hono/zod-openapi';
import {
  EvalParams,
  EvalRunList,
  EvalRunParams,
  EvalRunQuery,
  EvalRunsQuery,
  EvalRunView,
  StoppedEval,
} from '../../../contract/evals.js';
import { listEvalRuns, readEvalRun, stopEvalRun } from '../../../evals/index.js';
import { defineRoute } from '../../define-route.js';
import { okResponse } from '../../schemas.js';
import { findEvalOfPath } from './params.js';

export const getEvalRuns = defineRoute({
  access: { role: 'viewer' },
  find: findEvalOfPath,
  route: createRoute({
    method: 'get',
    path: '/api/workspaces/{ws}/evals/{eval}/runs',
    summary: 'The runs of an eval, newest first',
    tags: ['Evals'],
    request: { params: EvalParams, query: EvalRunsQuery },
    responses: okResponse(EvalRunList),
  }),
  handle: async (c) => {
    const { ws: workspace, eval: name } = c.req.valid('param');
    const page = await listEvalRuns(c.var.deps, c.var.caller, { workspace, eval: name, ...c.req.valid('query') });
    return c.json(page, 200);
  },
});

export const getEvalRun = defineRoute({
  access: { role: 'viewer' },
  find: findEvalOfPath,
  route: createRoute({
    method: 'get',
    path: '/api/workspaces/{ws}/evals/{eval}/runs/{id}',
    summary: 'One run of an eval: each case with its assertions and their evidence, and what changed since another run',
    tags: ['Evals'],
    request: { params: EvalRunParams, query: EvalRunQuery },
    responses: okResponse(EvalRunView),
  }),
  handle: async (c) => {
    const { ws: workspace, eval: name, id } = c.req.valid('param');
    const input = { workspace, eval: name, id, ...c.req.valid('query') };
    return c.json(await readEvalRun(c.var.deps, c.var.caller, input), 200);
  },
});

export const stopOneEvalRun = defineRoute({
  access: { role: 'editor' },
  idempotent: 'natural',
  find: findEvalOfPath,
  route: createRoute({
    method: 'post',
    path: '/api/workspaces/{ws}/evals/{eval}/runs/{id}/stop',
    summary: 'Stop a run of an eval, with the runs of its cases',
    tags: ['Evals'],
    request: { params: EvalRunParams },
    responses: okResponse(StoppedEval),
  }),
  handle: async (c) => {
    const { ws: workspace, eval: name, id } = c.req.valid('param');
    return c.json(await stopEvalRun(c.var.deps, c.var.caller, { workspace, eval: name, id }), 200);
  },
});
