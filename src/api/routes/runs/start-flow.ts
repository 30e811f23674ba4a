import { createRoute } from '@hono/zod-openapi';
import { WorkspaceParams } from '../../../contract/common.js';
import { Skipped, StartAgent, Started, StartRun } from '../../../contract/runs.js';
import { startRun } from '../../../runs/index.js';
import type { Json } from '../../../shared/json.js';
import { defineRoute } from '../../define-route.js';
import { acceptedResponse, jsonBody, okResponse, spentResponse } from '../../schemas.js';
import { findTargetOfPath, nameParam } from './params.js';

export const startFlow = defineRoute({
  access: { role: 'editor' },
  idempotent: 'settled',
  find: findTargetOfPath,
  route: createRoute({
    method: 'post',
    path: '/api/workspaces/{ws}/flows/{flow}/run',
    summary: 'Start a run of a flow',
    tags: ['Runs'],
    request: { params: WorkspaceParams.extend({ flow: nameParam('The flow’s name') }), body: jsonBody(StartRun) },
    responses: {
      ...acceptedResponse(Started, 'The run is kept, and goes on by itself'),
      ...okResponse(Skipped, 'No run was made (on_limit: skip)'),
      ...spentResponse,
    },
  }),
  handle: async (c) => {
    const { ws: workspace, flow } = c.req.valid('param');
    const { task = '', from = 1, tags = [] } = c.req.valid('json');
    const started = await startRun(c.var.deps, c.var.caller, {
      workspace,
      target: `flows/${flow}`,
      task: task as Json,
      from,
      tags,
      trigger: { kind: 'manual' },
      recordAnswer: c.var.recordAnswer?.(202),
    });
    return 'skipped' in started ? c.json(started, 200) : c.json(started, 202);
  },
});

export const startAgent = defineRoute({
  access: { role: 'editor' },
  idempotent: 'settled',
  find: findTargetOfPath,
  route: createRoute({
    method: 'post',
    path: '/api/workspaces/{ws}/agents/{agent}/run',
    summary: 'Run one agent alone',
    tags: ['Runs'],
    request: { params: WorkspaceParams.extend({ agent: nameParam('The agent’s name') }), body: jsonBody(StartAgent) },
    responses: {
      ...acceptedResponse(Started, 'The run is kept, and goes on by itself'),
      ...okResponse(Skipped),
      ...spentResponse,
    },
  }),
  handle: async (c) => {
    const { ws: workspace, agent } = c.req.valid('param');
    const { task, tags = [] } = c.req.valid('json');
    const started = await startRun(c.var.deps, c.var.caller, {
      workspace,
      target: `agents/${agent}`,
      task,
      from: 1,
      tags,
      trigger: { kind: 'manual' },
      recordAnswer: c.var.recordAnswer?.(202),
    });
    return 'skipped' in started ? c.json(started, 200) : c.json(started, 202);
  },
});
