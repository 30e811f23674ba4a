import { createRoute } from '@hono/zod-openapi';
import {
  OAuthClientBody,
  OAuthClientList,
  OAuthClientQuery,
  RegisterOAuthClientBody,
  RemovedOAuthClient,
} from '../../../contract/oauth.js';
import { deleteClient, listClients, registerClient } from '../../../secrets/index.js';
import { defineRoute } from '../../define-route.js';
import { createdResponse, jsonBody, okResponse, Page } from '../../schemas.js';

const tags = ['OAuth'];
const path = '/api/oauth/clients';

export const listOAuthClients = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'get',
    path,
    summary: 'List the OAuth clients of the account, and the providers that are built in',
    tags,
    request: { query: Page },
    responses: okResponse(OAuthClientList, 'By name, without their secrets'),
  }),
  handle: async (c) => c.json(await listClients(c.var.deps, c.var.caller, c.req.valid('query')), 200),
});

export const registerOAuthClient = defineRoute({
  access: { role: 'admin' },
  idempotent: true,
  route: createRoute({
    method: 'post',
    path,
    summary: 'Register an OAuth client of a provider',
    tags,
    request: { body: jsonBody(RegisterOAuthClientBody) },
    responses: createdResponse(OAuthClientBody, 'The client, with the redirect URI to register at the provider'),
  }),
  handle: async (c) => c.json(await registerClient(c.var.deps, c.var.caller, c.req.valid('json')), 201),
});

export const deleteOAuthClient = defineRoute({
  access: { role: 'admin' },
  route: createRoute({
    method: 'delete',
    path,
    summary: 'Forget an OAuth client; its connections stay',
    tags,
    request: { query: OAuthClientQuery },
    responses: okResponse(RemovedOAuthClient),
  }),
  handle: async (c) => c.json(await deleteClient(c.var.deps, c.var.caller, c.req.valid('query')), 200),
});
