import { createRoute } from '@hono/zod-openapi';
import { Page } from '../../../contract/common.js';
import { Skipped } from '../../../contract/runs.js';
import { Deliveries, OfDelivery, OfHook, Redelivered } from '../../../contract/triggers.js';
import { listDeliveries, redeliver } from '../../../triggers/index.js';
import { defineRoute } from '../../define-route.js';
import { acceptedResponse, okResponse, spentResponse } from '../../schemas.js';
import { findDeliveryOfPath, findHookOfPath } from './params.js';

export const getDeliveries = defineRoute({
  access: { role: 'admin' },
  find: findHookOfPath,
  route: createRoute({
    method: 'get',
    path: '/api/workspaces/{ws}/hooks/{flow}/deliveries',
    summary: 'The deliveries of a flow, newest first, with what became of each',
    tags: ['Triggers'],
    request: { params: OfHook, query: Page },
    responses: okResponse(Deliveries),
  }),
  handle: async (c) => {
    const { ws: workspace, flow } = c.req.valid('param');
    const input = { workspace, flow, ...c.req.valid('query') };
    return c.json(await listDeliveries(c.var.deps, c.var.caller, input), 200);
  },
});

export const postRedelivery = defineRoute({
  access: { role: 'admin' },
  idempotent: 'settled',
  find: findDeliveryOfPath,
  route: createRoute({
    method: 'post',
    path: '/api/workspaces/{ws}/hooks/{flow}/deliveries/{id}/redeliver',
    summary: 'Start the flow as it is now with what a delivery brought',
    tags: ['Triggers'],
    request: { params: OfDelivery },
    responses: {
      ...acceptedResponse(Redelivered, 'The run is kept, and goes on by itself'),
      ...okResponse(Skipped),
      ...spentResponse,
    },
  }),
  handle: async (c) => {
    const { ws: workspace, flow, id } = c.req.valid('param');
    const answer = await redeliver(c.var.deps, c.var.caller, { workspace, flow, id, recordAnswer: c.var.recordAnswer });
    return 'skipped' in answer ? c.json(answer, 200) : c.json(answer, 202);
  },
});
