import { createRoute } from '@hono/zod-openapi';
import { SecretList, SecretsQuery } from '../../../contract/secrets.js';
import { listSecrets as list } from '../../../secrets/index.js';
import { defineRoute } from '../../define-route.js';
import { okResponse } from '../../schemas.js';
import { findVault } from './find-vault.js';

export const listSecrets = defineRoute({
  access: { role: 'viewer' },
  find: findVault,
  route: createRoute({
    method: 'get',
    path: '/api/secrets',
    summary: 'List secrets, without their values',
    tags: ['Secrets'],
    request: { query: SecretsQuery },
    responses: okResponse(SecretList, 'By name'),
  }),
  handle: async (c) => c.json(await list(c.var.deps, c.var.caller, c.req.valid('query')), 200),
});
