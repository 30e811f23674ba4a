import { createRoute } from '@hono/zod-openapi';
import { TransferAccount, Transferred } from '../../../contract/team.js';
import { transferAccount } from '../../../people/index.js';
import { defineRoute } from '../../define-route.js';
import { jsonBody, okResponse } from '../../schemas.js';

export const postTransfer = defineRoute({
  access: { role: 'owner', person: true },
  route: createRoute({
    method: 'post',
    path: '/api/team/transfer',
    summary: 'Make another member the owner; the caller becomes an admin',
    tags: ['Account'],
    request: { body: jsonBody(TransferAccount) },
    responses: okResponse(Transferred, 'The new owner'),
  }),
  handle: async (c) => c.json(await transferAccount(c.var.deps, c.var.caller, c.req.valid('json').to), 200),
});
