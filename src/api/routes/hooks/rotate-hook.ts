import { createRoute } from '@hono/zod-openapi';
import { HookUrls, OfHook } from '../../../contract/triggers.js';
import { rotateHook } from '../../../triggers/index.js';
import { defineRoute } from '../../define-route.js';
import { okResponse } from '../../schemas.js';
import { findHookOfPath } from './params.js';

export const rotate = defineRoute({
  access: { role: 'admin' },
  find: findHookOfPath,
  route: createRoute({
    method: 'post',
    path: '/api/workspaces/{ws}/hooks/{flow}/rotate',
    summary: 'Give a flow’s hook and inbox a new token; the old addresses stop working',
    tags: ['Triggers'],
    request: { params: OfHook },
    responses: okResponse(HookUrls, 'The new addresses'),
  }),
  handle: async (c) => {
    const { ws: workspace, flow } = c.req.valid('param');
    const addresses = await rotateHook(c.var.deps, c.var.caller, { workspace, flow });
    c.header('Cache-Control', 'no-store');
    return c.json(addresses, 200);
  },
});
