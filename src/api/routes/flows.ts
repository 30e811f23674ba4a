import { createRoute } from '@hono/zod-openapi';
import { changeFlow, createFlow, deleteFlow, type FlowChange, listFlows, readFlow } from '../../content/index.js';
import { WorkspaceParams } from '../../contract/common.js';
import {
  ChangeFlow,
  CreateFlow,
  Deleted,
  FlowBody,
  FlowList,
  NamedPage,
  StepBody,
  StepQuery,
} from '../../contract/flows.js';
import { Refusal } from '../../shared/refusal.js';
import { shownAddresses } from '../../triggers/index.js';
import { defineRoute, type Route } from '../define-route.js';
import { oneValue } from '../one-value.js';
import { etagOf, readPrecondition } from '../preconditions.js';
import { createdResponse, jsonBody, jsonResponse, okResponse } from '../schemas.js';
import { findTargetOfPath, nameParam } from './runs.js';

const flowPath = '/api/workspaces/{ws}/flows/{flow}' as const;

const params = WorkspaceParams.extend({ flow: nameParam('The flow’s name') });

const edit = {
  path: flowPath,
  summary: 'Edit or add a step, rearrange the steps, or set keys of the flow: the body decides',
  tags: ['Flows'],
  request: { params, body: jsonBody(ChangeFlow) },
  responses: okResponse(FlowBody, 'The flow as it is now'),
};

const patchFlow = defineRoute({
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

const postFlow = defineRoute({
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

const removeFlow = defineRoute({
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

const path = '/api/workspaces/{ws}/flows';

const getFlows = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'get',
    path,
    summary: 'The flows, by name',
    tags: ['Flows'],
    request: { params: WorkspaceParams, query: NamedPage },
    responses: okResponse(FlowList),
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    return c.json(await listFlows(c.var.deps, c.var.caller, { workspace, ...c.req.valid('query') }), 200);
  },
});

const getFlow = defineRoute({
  access: { role: 'viewer' },
  find: findTargetOfPath,
  sends: ['ETag'],
  route: createRoute({
    method: 'get',
    path: `${path}/{flow}`,
    summary: 'A flow with its steps',
    tags: ['Flows'],
    request: { params: WorkspaceParams.extend({ flow: nameParam('The flow’s name') }) },
    responses: okResponse(FlowBody),
  }),
  handle: async (c) => {
    const { ws: workspace, flow } = c.req.valid('param');
    const found = await readFlow(c.var.deps, c.var.caller, { workspace, flow });
    const addresses = await shownAddresses(c.var.deps, c.var.caller, { workspace, flow });
    c.header('ETag', etagOf(found.sha));
    return c.json({ ...found, ...addresses }, 200);
  },
});

const postFlows = defineRoute({
  access: { role: 'editor' },
  idempotent: 'settled',
  route: createRoute({
    method: 'post',
    path,
    summary: 'Create a flow of a pattern',
    tags: ['Flows'],
    request: { params: WorkspaceParams, body: jsonBody(CreateFlow) },
    responses: createdResponse(FlowBody),
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    const { pattern = 'blank', ...wish } = c.req.valid('json');
    const input = { workspace, pattern, ...wish, recordAnswer: c.var.recordAnswer?.(201) };
    return c.json(await createFlow(c.var.deps, c.var.caller, input), 201);
  },
});

export const flowRoutes: readonly Route[] = [getFlows, postFlows, getFlow, postFlow, patchFlow, removeFlow];

/** The edits that a body asks for: one edit of steps or their order, and any keys of the flow. */
function changesOf(body: ChangeFlow): readonly FlowChange[] {
  const { step, before, title, groups, trigger, enabled, description, ...wish } = body;
  const isStep = step !== undefined || before !== undefined || title !== undefined || Object.keys(wish).length > 0;
  if (isStep && groups !== undefined)
    throw refused('groups', 'rearranging counts the steps as they are: send it in a call of its own');
  if (step !== undefined && (before !== undefined || title !== undefined))
    throw refused(
      before === undefined ? 'title' : 'before',
      'it belongs to a new step: leave out step, or leave it out',
    );
  if (step !== undefined && Object.keys(wish).length === 0)
    throw refused('step', 'say what is to change of it: instruction, options, target or subflow');
  const keys = { ...(enabled === undefined ? {} : { enabled }), ...(description === undefined ? {} : { description }) };
  const changes: FlowChange[] = [];
  if (Object.keys(keys).length > 0) changes.push({ kind: 'keys', keys });
  if (trigger !== undefined) changes.push({ kind: 'trigger', trigger });
  if (groups !== undefined) changes.push({ kind: 'regroup', groups });
  if (step !== undefined) changes.push({ kind: 'edit', step, ...wish });
  else if (isStep) changes.push({ kind: 'insert', title, before, ...wish });
  if (changes.length === 0) throw refused('body', 'it is empty: say what is to change');
  return changes;
}

function refused(key: string, message: string): Refusal {
  return new Refusal('refused', `${key}: ${message}`, { code: 'invalid' });
}
