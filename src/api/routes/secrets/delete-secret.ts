import { createRoute } from '@hono/zod-openapi';
import { DeletedSecret, SecretQuery } from '../../../contract/secrets.js';
import { deleteSecret as remove } from '../../../secrets/index.js';
import { defineRoute } from '../../define-route.js';
import { okResponse } from '../../schemas.js';
import { findVault } from './find-vault.js';

export const deleteSecret = defineRoute({
  access: { role: 'admin' },
  find: findVault,
  route: createRoute({
    method: 'delete',
    path: '/api/secrets',
    summary: 'Delete a secret',
    tags: ['Secrets'],
    request: { query: SecretQuery },
    responses: okResponse(DeletedSecret, 'What was deleted'),
  }),
  handle: async (c) => c.json(await remove(c.var.deps, c.var.caller, c.req.valid('query')), 200),
});
