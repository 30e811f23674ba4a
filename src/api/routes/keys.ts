import { createRoute, z } from '@hono/zod-openapi';
import { KeyList, KeysQuery, Minted, MintKey, RevokeKeyBody, RevokeKeyQuery } from '../../contract/keys.js';
import { createKey, listKeys, revokeKey } from '../../people/index.js';
import { Refusal } from '../../shared/refusal.js';
import { defineRoute, type Route } from '../define-route.js';
import { createdResponse, jsonBody, okResponse } from '../schemas.js';

const getKeys = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'get',
    path: '/api/keys',
    summary: 'The API keys of the account, newest first',
    tags: ['Account'],
    request: { query: KeysQuery },
    responses: okResponse(KeyList),
  }),
  handle: async (c) => c.json(await listKeys(c.var.deps, c.var.caller, c.req.valid('query')), 200),
});

const postKey = defineRoute({
  access: { role: 'admin' },
  route: createRoute({
    method: 'post',
    path: '/api/keys',
    summary: 'Mint an API key, or with workspace and access a deploy key for git',
    tags: ['Account'],
    request: { body: jsonBody(MintKey) },
    responses: createdResponse(Minted, 'The key, shown this once'),
  }),
  handle: async (c) => {
    c.header('Cache-Control', 'no-store');
    return c.json(await createKey(c.var.deps, c.var.caller, c.req.valid('json')), 201);
  },
});

const deleteKey = defineRoute({
  access: { role: 'admin' },
  route: createRoute({
    method: 'delete',
    path: '/api/keys',
    summary: 'Revoke an API key, at once',
    tags: ['Account'],
    request: { query: RevokeKeyQuery, body: { content: { 'application/json': { schema: RevokeKeyBody } } } },
    responses: okResponse(z.object({ ok: z.literal(true), id: z.string() })),
  }),
  handle: async (c) => {
    const { id, tenant } = { ...c.req.valid('json'), ...c.req.valid('query') };
    if (id === undefined) throw new Refusal('refused', 'id: name the key to revoke, as ?id= or in the body');
    return c.json(await revokeKey(c.var.deps, c.var.caller, { id, tenant }), 200);
  },
});

export const keyRoutes: readonly Route[] = [getKeys, postKey, deleteKey];
