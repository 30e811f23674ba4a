import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { beforeAll, describe, expect, test } from 'vitest';
import { mintKey } from '../../src/accounts/index.js';
import { createApp } from '../../src/api/app.js';
import { defineRoute, type Route } from '../../src/api/define-route.js';
import { routes } from '../../src/api/routes/index.js';
import { okResponse } from '../../src/api/schemas.js';
import { atLeast, ROLES, type Role } from '../../src/shared/roles.js';
import { createKey, createTenant, createTestApp, type TestApp } from '../support/create-test-app.js';
import { insertWorkspace } from '../support/workspace-row.js';

type Guarded = Route & { readonly access: { readonly role: Role; readonly person?: true } };
const guarded = routes.filter((route): route is Guarded => typeof route.access === 'object');
const inWorkspace = guarded.filter(({ path }) => path.includes('{ws}'));
const name = ({ method, path }: Route) => `${method.toUpperCase()} ${path}`;

/** An owner's key is an admin's, so no key reaches what only an owner may do. */
const effective = (role: Role): Role => (role === 'owner' ? 'admin' : role);

let app: TestApp;
let keys: Record<Role, string>;
let foreign: { readonly tenant: string };
let ended: { revoked: string; expired: string; readDeploy: string; writeDeploy: string; scoped: string };

beforeAll(async () => {
  app = await createTestApp();
  const { deps, tenant, owner } = app;
  const id = await insertWorkspace(deps, tenant, 'never-deleted');
  await insertWorkspace(deps, tenant, 'ours');
  foreign = await createTenant(deps);
  await insertWorkspace(deps, foreign.tenant, 'theirs');
  const entries = await Promise.all(
    ROLES.map(async (role) => [role, await createKey(deps, { tenant, owner, role })] as const),
  );
  keys = Object.fromEntries(entries) as Record<Role, string>;
  const mint = (more: object) => mintKey(deps.db, { tenant, label: 'x', role: 'admin', mintedBy: owner, ...more });
  const revoked = await mint({});
  await deps.db.query('UPDATE api_key SET revoked_at = now() WHERE id = $1', [revoked.id]);
  ended = {
    revoked: revoked.key,
    expired: (await mint({ expiresAt: new Date(Date.now() - 1_000) })).key,
    readDeploy: (await mint({ deploy: { workspace: id, access: 'read' } })).key,
    writeDeploy: (await mint({ deploy: { workspace: id, access: 'write' } })).key,
    scoped: await createKey(deps, { tenant, owner, role: 'admin', workspaces: ['another'] }),
  };
});

function call(route: Route, ws: string, init: Parameters<TestApp['request']>[1] = {}): Promise<Response> {
  const path = route.path.replace('{ws}', ws).replace(/\{[^}]+\}/g, 'no-such-thing');
  return app.request(path, { method: route.method.toUpperCase(), ...init });
}

describe.each(guarded.map((route) => [name(route), route] as const))('security 24: %s', (_name, route) => {
  test('refuses whoever has no valid key, and a forged tenant header changes nothing', async () => {
    const wrong = { Authorization: `Bearer ${app.key.slice(0, -1)}${app.key.endsWith('a') ? 'b' : 'a'}` };
    const calls = await Promise.all([
      call(route, 'ours', { as: null }),
      call(route, 'ours', { as: null, headers: { 'x-service-tenant': app.tenant } }),
      call(route, 'ours', { as: null, headers: { cookie: 'service_session=anything' } }),
      call(route, 'ours', { as: null, headers: { Authorization: `Basic ${btoa(`x:${app.key}`)}` } }),
      call(route, 'ours', { headers: wrong }),
      call(route, 'ours', { as: ended.revoked }),
      call(route, 'ours', { as: ended.expired }),
    ]);
    expect(calls.map(({ status }) => status)).toEqual(calls.map(() => 401));
  });

  test('refuses deploy keys, which are for git', async () => {
    const calls = await Promise.all([ended.readDeploy, ended.writeDeploy].map((as) => call(route, 'ours', { as })));
    expect(calls.map(({ status }) => status)).toEqual([403, 403]);
  });

  test('lets in exactly the roles that its declaration names', async () => {
    const { role: need, person } = route.access;
    for (const role of ROLES) {
      // An admin may have deleted it.
      await insertWorkspace(app.deps, app.tenant, 'ours');
      const response = await call(route, 'ours', { as: keys[role] });
      if (!atLeast(effective(role), need)) {
        const refused = [403, { error: `needs role ${need}`, need }];
        // A missing thing comes before a role that is too low, where the route looks for more than the workspace.
        const missing = [404, { error: expect.stringMatching(/^no such /) }];
        const allowed = response.status === 404 && /\{(?!ws)/.test(route.path) ? missing : refused;
        expect([role, response.status, await response.json()]).toEqual([role, ...allowed]);
      } else if (person) {
        // Where the path names a thing, that it is missing comes first here too.
        expect([role, response.status]).toEqual([role, /\{(?!ws)/.test(route.path) ? 404 : 403]);
      } else expect([role, [401, 403].includes(response.status)]).toEqual([role, false]);
    }
  });
});

describe.each(inWorkspace.map((route) => [name(route), route] as const))('security 24: %s', (_name, route) => {
  test('answers a foreign workspace and one out of scope exactly as a missing one, before role and body', async () => {
    const garbage = route.method === 'get' ? {} : { body: '{', headers: { 'content-type': 'application/json' } };
    const missing = await call(route, 'missing', { as: keys.admin });
    const text = await missing.text();
    expect(missing.status).toBe(404);
    const calls = await Promise.all([
      call(route, 'theirs', { as: keys.admin }),
      call(route, 'theirs', { as: keys.viewer }),
      call(route, 'theirs', { as: keys.admin, headers: { 'x-service-tenant': foreign.tenant } }),
      call(route, 'ours', { as: ended.scoped }),
      call(route, 'theirs', { as: keys.admin, ...garbage }),
      call(route, 'theirs%00', { as: keys.admin }),
    ]);
    for (const response of calls) expect([response.status, await response.text()]).toEqual([404, text]);
  });
});

test('security 24: the app serves nothing that is not in the route table', async () => {
  const table = new Set(
    routes.map(({ method, path }) => `${method.toUpperCase()} ${path.replace(/\{([^}]+)\}/g, ':$1')}`),
  );
  const served = createApp(app.deps).routes.filter(({ method }) => method !== 'ALL');
  expect(new Set(served.map(({ method, path }) => `${method} ${path}`))).toEqual(table);
});

test('a route without a stated access does not compile, and an open one has no caller', () => {
  const route = createRoute({ method: 'get', path: '/x', responses: okResponse(z.object({ a: z.string() })) });
  const handle = async (c: Context) => c.json({ a: '' }, 200);
  // @ts-expect-error access is required
  defineRoute({ route, handle });
  // @ts-expect-error an open route has no caller
  defineRoute({ access: 'open', route, handle: async (c) => c.json({ a: c.var.caller.tenant }, 200) });
  // @ts-expect-error an answer must be the declared one
  defineRoute({ access: 'open', route, handle: async (c) => c.json({ b: '' }, 200) });
  expect(defineRoute({ access: 'open', route, handle }).access).toBe('open');
});
