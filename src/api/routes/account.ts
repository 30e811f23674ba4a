import { createRoute } from '@hono/zod-openapi';
import { changeAccount } from '../../content/index.js';
import { AccountBody, ChangeAccount } from '../../contract/account.js';
import { Me } from '../../contract/accounts.js';
import { AuditList, AuditQuery } from '../../contract/audit.js';
import { listAudit, readAccount, whoAmI } from '../../people/index.js';
import { defineRoute, type Route } from '../define-route.js';
import { jsonBody, okResponse } from '../schemas.js';

const path = '/api/account';

const tags = ['Account'];

const getAccount = defineRoute({
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

const patchAccount = defineRoute({
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

const getMe = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'get',
    path: '/api/me',
    summary: 'The calling identity',
    tags: ['Account'],
    responses: okResponse(Me, 'Who calls, and what they may do'),
  }),
  handle: async (c) => {
    // The response depends on the signed-in person.
    c.header('Cache-Control', 'no-store');
    return c.json(await whoAmI(c.var.deps, c.var.caller), 200);
  },
});

const getAudit = defineRoute({
  access: { role: 'admin' },
  route: createRoute({
    method: 'get',
    path: '/api/audit',
    summary: 'Who did what to whom, from where, newest first',
    tags: ['Account'],
    request: { query: AuditQuery },
    responses: okResponse(AuditList),
  }),
  handle: async (c) => c.json(await listAudit(c.var.deps, c.var.caller, c.req.valid('query')), 200),
});

export const accountRoutes: readonly Route[] = [getMe, getAccount, patchAccount, getAudit];
