import { createRoute } from '@hono/zod-openapi';
import { PutSecretAnswer, PutSecretBody } from '../../../contract/secrets.js';
import { putSecret as put } from '../../../secrets/index.js';
import { defineRoute } from '../../define-route.js';
import { jsonBody, okResponse } from '../../schemas.js';

export const putSecret = defineRoute({
  access: { role: 'admin' },
  route: createRoute({
    method: 'put',
    path: '/api/secrets',
    summary: 'Store a secret',
    tags: ['Secrets'],
    request: { body: jsonBody(PutSecretBody) },
    responses: okResponse(PutSecretAnswer, 'What was stored, without its value'),
  }),
  handle: async (c) => c.json(await put(c.var.deps, c.var.caller, c.req.valid('json')), 200),
});
