import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { Page, WorkspaceParams } from '../../contract/common.js';
import {
  CreatedEval,
  CreateEval,
  EvalList,
  EvalParams,
  EvalRunList,
  EvalRunParams,
  EvalRunQuery,
  EvalRunsQuery,
  EvalRunView,
  RunEval,
  StartedEval,
  StoppedEval,
} from '../../contract/evals.js';
import { createEval, findEval, listEvalRuns, listEvals, readEvalRun, runEval, stopEvalRun } from '../../evals/index.js';
import { defineRoute, type Route } from '../define-route.js';
import type { GuardedEnv } from '../env.js';
import { acceptedResponse, createdResponse, jsonBody, okResponse, spentResponse } from '../schemas.js';

const getEvalRuns = defineRoute({
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

const getEvalRun = defineRoute({
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

const stopOneEvalRun = defineRoute({
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

const getEvals = defineRoute({
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

const postEval = defineRoute({
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

const postEvalRun = defineRoute({
  access: { role: 'editor' },
  idempotent: 'settled',
  find: findEvalOfPath,
  route: createRoute({
    method: 'post',
    path: '/api/workspaces/{ws}/evals/{eval}/run',
    summary: 'Run an eval, or some of its cases',
    tags: ['Evals'],
    request: { params: EvalParams, body: jsonBody(RunEval) },
    responses: {
      ...acceptedResponse(StartedEval, 'The eval run is stored, and continues by itself'),
      ...spentResponse,
    },
  }),
  handle: async (c) => {
    const { ws: workspace, eval: name } = c.req.valid('param');
    const input = { workspace, eval: name, ...c.req.valid('json'), recordAnswer: c.var.recordAnswer?.(202) };
    return c.json(await runEval(c.var.deps, c.var.caller, input), 202);
  },
});

export const evalRoutes: readonly Route[] = [getEvals, postEval, postEvalRun, getEvalRuns, getEvalRun, stopOneEvalRun];

/** Finds the eval of the path: a missing object takes precedence over an invalid body. */
function findEvalOfPath(c: Context<GuardedEnv>): Promise<unknown> {
  const at = { workspace: c.req.param('ws') ?? '', eval: c.req.param('eval') ?? '' };
  return findEval(c.var.deps.db, c.var.caller, at);
}
