import { createRoute, z } from '@hono/zod-openapi';
import { HookParams, HookPassed, HookQuery, HookStarted } from '../../../contract/triggers.js';
import { receiveHook } from '../../../triggers/index.js';
import { clientAddress } from '../../auth/client-address.js';
import { defineRoute } from '../../define-route.js';
import { acceptedResponse, okResponse, spentResponse } from '../../schemas.js';

export const postHook = defineRoute({
  access: 'token',
  route: createRoute({
    method: 'post',
    path: '/api/hooks/{tenant}/{ws}/{flow}',
    summary: 'Start a flow from outside; the body becomes its input',
    tags: ['Triggers'],
    request: {
      params: HookParams,
      query: HookQuery,
      // Of any type: the bytes are what is signed, so nothing parses them before the signature is checked.
      body: { content: { '*/*': { schema: z.unknown() } } },
    },
    responses: {
      ...acceptedResponse(HookStarted, 'The run is kept, and goes on by itself'),
      ...okResponse(HookPassed, 'Nothing was started: a filter, on_limit: skip, or a challenge'),
      ...spentResponse,
    },
  }),
  handle: async (c) => {
    const { tenant, ws: workspace, flow } = c.req.valid('param');
    const { token } = c.req.valid('query');
    const answer = await receiveHook(c.var.deps, {
      path: { tenant, workspace, flow, token },
      headers: c.req.header(),
      query: c.req.query(),
      body: new Uint8Array(await c.req.arrayBuffer()),
      address: clientAddress(c),
    });
    c.header('Cache-Control', 'no-store');
    return 'runId' in answer || 'debounced' in answer ? c.json(answer, 202) : c.json(answer, 200);
  },
});
