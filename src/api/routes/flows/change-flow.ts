import { createRoute } from '@hono/zod-openapi';
import { changeFlow, deleteFlow } from '../../../content/index.js';
import { WorkspaceParams } from '../../../contract/common.js';
import { ChangeFlow, Deleted, FlowBody, StepBody, StepQuery } from '../../../contract/flows.js';
import { defineRoute } from '../../define-route.js';
import { oneValue } from '../../one-value.js';
import { etagOf, readPrecondition } from '../../preconditions.js';
import { jsonBody, jsonResponse, okResponse } from '../../schemas.js';
import { findTargetOfPath, nameParam } from '../runs/params.js';
import { changesOf } from './changes-of.js';

const flowPath = '/api/workspaces/{ws}/flows/{flow}' as const;
const params = WorkspaceParams.extend({ flow: nameParam('The flow’s name') });
const edit = {
  path: flowPath,
  summary: 'Edit or add a step, rearrange the steps, or set keys of the flow: the body decides',
  tags: ['Flows'],
  request: { params, body: jsonBody(ChangeFlow) },
  responses: okResponse(FlowBody, 'The flow as it is now'),
};

export const patchFlow = defineRoute({
  access: { role: 'editor' },
  find: findTargetOfPath,
  reads: ['If-Match', 'If-None-Match'],
  sends: ['ETag'],
  route: createRoute({ method: 'patch', ...edit }),
  handle: async (c) => {
    const { ws: workspace, flow } = c.req.valid('param');
    const changes = changesOf(c.req.valid('json'));
    const input = { workspace, flow, changes, expect: readPrecondition(c) };
    const now = await changeFlow(c.var.deps, c.var.caller, input);
    c.header('ETag', etagOf(now.sha));
    return c.json(now, 200);
  },
});

export const postFlow = defineRoute({
  access: { role: 'editor' },
  idempotent: 'settled',
  find: findTargetOfPath,
  reads: ['If-Match', 'If-None-Match'],
  sends: ['ETag'],
  route: createRoute({ method: 'post', ...edit }),
  handle: async (c) => {
    const { ws: workspace, flow } = c.req.valid('param');
    const changes = changesOf(c.req.valid('json'));
    const input = { workspace, flow, changes, expect: readPrecondition(c), recordAnswer: c.var.recordAnswer?.(200) };
    const now = await changeFlow(c.var.deps, c.var.caller, input);
    c.header('ETag', etagOf(now.sha));
    return c.json(now, 200);
  },
});

export const removeFlow = defineRoute({
  access: { role: 'editor' },
  find: findTargetOfPath,
  reads: ['If-Match', 'If-None-Match'],
  route: createRoute({
    method: 'delete',
    path: flowPath,
    summary: 'Delete a flow, or with ?step= one step of it',
    tags: ['Flows'],
    request: { params, query: StepQuery, body: { content: { 'application/json': { schema: StepBody } } } },
    responses: { 200: jsonResponse(Deleted.or(FlowBody), 'What was deleted; the flow as it is now, for a step') },
  }),
  handle: async (c) => {
    const { ws: workspace, flow } = c.req.valid('param');
    const step = oneValue('step', c.req.valid('query').step, c.req.valid('json').step);
    const at = { workspace, flow, expect: readPrecondition(c) };
    if (step === undefined) return c.json(await deleteFlow(c.var.deps, c.var.caller, at), 200);
    const changes = [{ kind: 'remove', step }] as const;
    return c.json(await changeFlow(c.var.deps, c.var.caller, { ...at, changes }), 200);
  },
});
