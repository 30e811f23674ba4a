import { createRoute, z } from '@hono/zod-openapi';
import { defineRoute } from '../../define-route.js';
import { openApiDocument } from '../../openapi.js';
import { okResponse } from '../../schemas.js';

const Document = z.looseObject({ openapi: z.string() });
const description = {
  method: 'get' as const,
  summary: 'This description of the API',
  tags: ['Operations'],
  responses: okResponse(Document, 'OpenAPI 3.1'),
};

export const getOpenApi = defineRoute({
  access: 'open',
  route: createRoute({ ...description, path: '/docs/openapi.json' }),
  handle: async (c) => c.json(openApiDocument(c.var.app, c.var.deps.config), 200),
});

export const getApiOpenApi = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({ ...description, path: '/api/openapi.json' }),
  handle: async (c) => c.json(openApiDocument(c.var.app, c.var.deps.config), 200),
});
