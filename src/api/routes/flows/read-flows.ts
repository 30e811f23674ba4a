import { createRoute } from '@hono/zod-openapi';
import { createFlow, listFlows, readFlow } from '../../../content/index.js';
import { WorkspaceParams } from '../../../contract/common.js';
import { CreateFlow, FlowBody, FlowList, NamedPage } from '../../../contract/flows.js';
import { shownAddresses } from '../../../triggers/index.js';
import { defineRoute } from '../../define-route.js';
import { etagOf } from '../../preconditions.js';
import { createdResponse, jsonBody, okResponse } from '../../schemas.js';
import { findTargetOfPath, nameParam } from '../runs/params.js';

const path = '/api/workspaces/{ws}/flows';

export const getFlows = defineRoute({
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

export const getFlow = defineRoute({
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

export const postFlows = defineRoute({
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
