import { createRoute } from '@hono/zod-openapi';
import { RunParams } from '../../../contract/common.js';
import { Decided, DecideRun, Stopped } from '../../../contract/runs.js';
import { auditRefusal, decideRun, stopRun } from '../../../runs/index.js';
import { defineRoute } from '../../define-route.js';
import { jsonBody, okResponse } from '../../schemas.js';
import { findRunOfPath } from './params.js';

export const approveRun = defineRoute({
  access: { role: 'editor' },
  idempotent: 'settled',
  keysByCaller: true,
  find: findRunOfPath,
  refused: (c, refusal) => auditRefusal(c.var.deps, c.var.caller, { runId: c.req.param('id') ?? '' }, refusal),
  route: createRoute({
    method: 'post',
    path: '/api/workspaces/{ws}/runs/{id}/approve',
    summary: 'Release a run that waits on a human',
    description:
      'A request that names nothing decides the one gate that is open when it arrives. If it is sent again after a lost answer or by a double click, it may decide the gate of the next step, which was not read. Send round and digest of the gate as read, or an Idempotency-Key, to prevent that.',
    tags: ['Runs'],
    request: { params: RunParams, body: jsonBody(DecideRun) },
    responses: okResponse(Decided, 'The decision is kept; the run goes on by itself'),
  }),
  handle: async (c) => {
    const { ws: workspace, id: runId } = c.req.valid('param');
    const input = { workspace, runId, ...c.req.valid('json'), recordAnswer: c.var.recordAnswer?.(200) };
    return c.json(await decideRun(c.var.deps, c.var.caller, input), 200);
  },
});

export const stopOneRun = defineRoute({
  access: { role: 'editor' },
  idempotent: 'natural',
  find: findRunOfPath,
  route: createRoute({
    method: 'post',
    path: '/api/workspaces/{ws}/runs/{id}/stop',
    summary: 'Stop a run; its sandbox is destroyed',
    tags: ['Runs'],
    request: { params: RunParams },
    responses: okResponse(Stopped),
  }),
  handle: async (c) => {
    const { ws: workspace, id: runId } = c.req.valid('param');
    return c.json(await stopRun(c.var.deps, c.var.caller, { workspace, runId }), 200);
  },
});
