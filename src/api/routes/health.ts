import { createRoute } from '@hono/zod-openapi';
import { Health } from '../../contract/health.js';
import { checkHealth } from '../../observe/index.js';
import { AnyQuery } from '../closed-query.js';
import { defineRoute, type Route } from '../define-route.js';
import { okResponse } from '../schemas.js';

const getHealth = defineRoute({
  access: 'open',
  route: createRoute({
    method: 'get',
    path: '/api/healthz',
    summary: 'How each part of the service is',
    description: 'Always 200: it reports a failing part and never refuses.',
    tags: ['Operations'],
    request: { query: AnyQuery },
    responses: okResponse(Health, 'How each part is now'),
  }),
  handle: async (c) => {
    c.header('Cache-Control', 'no-store');
    return c.json(await checkHealth(c.var.deps), 200);
  },
});

export const healthRoutes: readonly Route[] = [getHealth];
