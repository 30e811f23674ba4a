import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import {
  DeletedSecret,
  PutSecretAnswer,
  PutSecretBody,
  SecretList,
  SecretQuery,
  SecretsQuery,
} from '../../contract/secrets.js';
import { findWorkspace } from '../../people/index.js';
import { listSecrets as list, putSecret as put, deleteSecret as remove } from '../../secrets/index.js';
import { defineRoute, type Route } from '../define-route.js';
import type { GuardedEnv } from '../env.js';
import { jsonBody, okResponse } from '../schemas.js';

const deleteSecret = defineRoute({
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

const listSecrets = defineRoute({
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

const putSecret = defineRoute({
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

export const secretRoutes: readonly Route[] = [listSecrets, putSecret, deleteSecret];

/** Finds the workspace of `?workspace=`, since a missing one is refused before anything else. */
async function findVault(c: Context<GuardedEnv>): Promise<void> {
  const workspace = c.req.query('workspace');
  if (workspace !== undefined) await findWorkspace(c.var.deps.db, c.var.caller, workspace);
}
