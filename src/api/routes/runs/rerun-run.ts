import { createRoute } from '@hono/zod-openapi';
import { RunParams } from '../../../contract/common.js';
import { RerunRun, Skipped, Started } from '../../../contract/runs.js';
import { rerunRun } from '../../../runs/index.js';
import { defineRoute } from '../../define-route.js';
import { acceptedResponse, jsonBody, okResponse, spentResponse } from '../../schemas.js';
import { findRunOfPath } from './params.js';

export const rerunOneRun = defineRoute({
  access: { role: 'editor' },
  idempotent: 'settled',
  find: findRunOfPath,
  route: createRoute({
    method: 'post',
    path: '/api/workspaces/{ws}/runs/{id}/rerun',
    summary: 'Run it again, from a step on, with another agent if wanted',
    tags: ['Runs'],
    request: { params: RunParams, body: jsonBody(RerunRun) },
    responses: {
      ...acceptedResponse(Started, 'A new run is kept, and goes on by itself; the old one is left as it is'),
      ...okResponse(Skipped, 'No run was made (on_limit: skip)'),
      ...spentResponse,
    },
  }),
  handle: async (c) => {
    const { ws: workspace, id: runId } = c.req.valid('param');
    const { step = 1, agent, with: on } = c.req.valid('json');
    const rerun = { workspace, runId, step, agent, current: on === 'current', recordAnswer: c.var.recordAnswer?.(202) };
    const started = await rerunRun(c.var.deps, c.var.caller, rerun);
    return 'skipped' in started ? c.json(started, 200) : c.json(started, 202);
  },
});
