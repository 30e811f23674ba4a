import { createRoute } from '@hono/zod-openapi';
import { changeAccount } from '../../../content/index.js';
import { AccountBody, ChangeAccount } from '../../../contract/account.js';
import { readAccount } from '../../../people/index.js';
import { defineRoute } from '../../define-route.js';
import { jsonBody, okResponse } from '../../schemas.js';

const path = '/api/account';
const tags = ['Account'];

export const getAccount = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'get',
    path,
    summary: 'The account’s defaults',
    tags,
    responses: okResponse(AccountBody),
  }),
  handle: async (c) => c.json(await readAccount(c.var.deps, c.var.caller), 200),
});

export const patchAccount = defineRoute({
  access: { role: 'admin' },
  route: createRoute({
    method: 'patch',
    path,
    summary: 'Set defaults of the account; null clears one',
    tags,
    request: { body: jsonBody(ChangeAccount) },
    responses: okResponse(AccountBody, 'The defaults as they are now'),
  }),
  handle: async (c) => c.json(await changeAccount(c.var.deps, c.var.caller, c.req.valid('json')), 200),
});
