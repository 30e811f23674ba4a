import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { beforeAll, describe, expect, test } from 'vitest';
import { createApp } from '../../src/api/app.js';
import { defineRoute, type Route } from '../../src/api/define-route.js';
import { routes } from '../../src/api/routes/index.js';
import { okResponse } from '../../src/api/schemas.js';
import { atLeast, ROLES, type Role } from '../../src/shared/roles.js';
import { ACCESS_ROWS, type AccessRow } from '../support/access-rows.js';
import { type AccessStage, type Credential, createAccessStage } from '../support/access-stage.js';
import { createTestApp, type TestRequest } from '../support/create-test-app.js';
import { createPerson } from '../support/sessions.js';
import { signedInCookie } from '../support/signed-in-cookie.js';

type Guarded = Route & { readonly access: { readonly role: Role; readonly person?: true } };
const name = ({ method, path }: Route) => `${method.toUpperCase()} ${path}`;
const isGuarded = (route: Route): route is Guarded => typeof route.access === 'object';
const guarded = routes.filter(isGuarded).map((route) => [name(route), route] as const);
const open = routes.filter((route) => !isGuarded(route)).map((route) => [name(route), route] as const);
const inWorkspace = guarded.filter(([, { path }]) => path.includes('{ws}'));
const CREDENTIALS: readonly Credential[] = ['key', 'session'];

let stage: AccessStage;
beforeAll(async () => {
  stage = await createAccessStage();
});

function rowOf(route: Route): AccessRow {
  const row = ACCESS_ROWS[name(route)];
  if (row === undefined) throw new Error(`${name(route)} has no row: add one to test/support/access-rows.ts`);
  return typeof row === 'number' ? { allowed: row } : row;
}

/** What the matrix says: the interface's roles, and no key is a person or more than an admin. */
function expected(route: Guarded, role: Role, by: Credential): number {
  const { allowed, need = route.access.role } = rowOf(route);
  const effective = by === 'key' && role === 'owner' ? 'admin' : role;
  return atLeast(effective, need) && (by === 'session' || !route.access.person) ? allowed : 403;
}

/** A kind alone names no thing of anybody's: each account has its own library. */
function namesThing({ path }: Route): boolean {
  return /\{(?!kind\})/.test(path);
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function send(route: Route, path: string, init: TestRequest): Promise<Answer> {
  const response = await stage.app.request(path, { ...init, method: route.method.toUpperCase() });
  const isStream = response.headers.get('content-type')?.includes('event-stream') ?? false;
  if (isStream) await response.body?.cancel();
  return { status: response.status, text: isStream ? '' : await response.text() };
}

async function call(route: Route, init: TestRequest): Promise<Answer> {
  return send(route, await stage.pathOf(route), init);
}

test('security 24: each route has its row in the matrix, and no row is without its route', () => {
  expect(Object.keys(ACCESS_ROWS).sort()).toEqual(routes.map(name).sort());
});

test.each(guarded.filter(([, { method }]) => method === 'delete'))(
  '%s passes over no key of its query that it does not know',
  async (_name, route) => {
    const path = await stage.pathOf(route);
    const { status, text } = await send(
      route,
      `${path}${path.includes('?') ? '&' : '?'}nmae=x`,
      await stage.as('owner', 'session'),
    );
    expect(status).toBe(422);
    expect(JSON.parse(text).issues).toContainEqual({
      path: 'query.nmae',
      message: expect.stringMatching(/^unknown key/),
    });
  },
);

describe.each(guarded)('security 24: %s', (_name, route) => {
  test('gives each role, by key and by session, exactly the status of its row', async () => {
    const got: unknown[] = [];
    const wanted: unknown[] = [];
    for (const role of ROLES) {
      for (const by of CREDENTIALS) {
        const { status, text } = await call(route, await stage.as(role, by));
        got.push([role, by, status]);
        wanted.push([role, by, expected(route, role, by)]);
        // A refused call says what was needed.
        if (status === 403)
          expect(JSON.parse(text)).toMatchObject({ error: expect.any(String), need: expect.any(String) });
      }
    }
    expect(got).toEqual(wanted);
  });

  test('refuses whoever has no valid credential, and a forged tenant header changes nothing', async () => {
    const got: unknown[] = [];
    for (const [who, init] of Object.entries(stage.dead)) got.push([who, (await call(route, init)).status]);
    expect(got).toEqual(Object.keys(stage.dead).map((who) => [who, 401]));
  });

  test('refuses deploy keys, which are for git', async () => {
    for (const as of stage.deployKeys) expect((await call(route, { as })).status).toBe(403);
  });

  test('shows an admin narrowed to another workspace nothing of this one', async () => {
    const { scoped } = rowOf(route);
    for (const by of CREDENTIALS) {
      const { status } = await call(route, await stage.asScoped(by));
      const plain = expected(route, 'admin', by);
      expect([by, status]).toEqual([by, route.path.includes('{ws}') ? 404 : plain === 403 ? 403 : (scoped ?? plain)]);
    }
  });

  test('shows an admin of another account nothing of this one, whatever header it sends', async () => {
    for (const by of CREDENTIALS) {
      const init = await stage.asForeign(by);
      const headers = { ...(init.headers as Record<string, string>), 'x-service-tenant': stage.app.tenant };
      const { status, text } = await call(route, { ...init, headers });
      expect([by, status]).toEqual([by, namesThing(route) ? 404 : expected(route, 'owner', by)]);
      expect(text).not.toContain(stage.app.tenant);
    }
  });
});

describe.each(open)('security 24: %s', (_name, route) => {
  test('answers everybody alike: it needs no credential, or carries its own proof', async () => {
    const { allowed } = rowOf(route);
    const { 'a key as a password': basic, ...dead } = stage.dead;
    const callers = [...Object.values(dead), await stage.as('owner', 'key')];
    // To git a key as a password is the credential: test/git/remote.test.ts.
    if (basic && !route.path.startsWith('/git/')) callers.push(basic);
    for (const init of callers) expect((await call(route, init)).status).toBe(allowed);
  });
});

describe.each(inWorkspace)('security 24: %s', (_name, route) => {
  test('answers a foreign workspace and one out of scope exactly as a missing one, before role and body', async () => {
    const garbage = route.method === 'get' ? {} : { body: '{' };
    const json = { 'content-type': 'application/json' };
    const admin = await stage.as('admin', 'key');
    const at = async (ws: string) => (await stage.pathOf(route)).replace(/^(\/api\/workspaces\/)[^/]+/, `$1${ws}`);
    const missing = await send(route, await at('missing'), admin);
    expect(missing.status).toBe(404);
    const here = await stage.pathOf(route);
    const answers = await Promise.all([
      send(route, here, await stage.asForeign('key')),
      send(route, here, await stage.asForeign('session')),
      send(route, here, await stage.asScoped('key')),
      send(route, here, { ...(await stage.asForeign('key')), ...garbage, headers: json }),
      send(route, await at('missing'), await stage.as('viewer', 'key')),
      send(route, await at('missing%00'), admin),
    ]);
    for (const answer of answers) expect(answer).toEqual(missing);
  });
});

test('security 24: a person sets their own picture, whatever their role, and nobody else’s', async () => {
  const { app } = stage;
  const put = (id: string, init: TestRequest) => app.request(`/api/avatars/user/${id}`, { ...init, method: 'PUT' });
  for (const role of ROLES) {
    const me = stage.people[role];
    expect((await put(me.id, await stage.as(role, 'session'))).status).toBe(422);
    expect((await put(me.id, await stage.as(role, 'key'))).status).toBe(403);
    expect((await put((await createPerson(app, 'viewer')).id, await stage.as(role, 'session'))).status).toBe(403);
    expect((await put(me.id, await stage.asForeign('session'))).status).toBe(404);
  }
});

test('security 27: a demoted, narrowed or removed member has lost access by the next request of the same session', async () => {
  const { app, workspace } = stage;
  const person = await createPerson(app, 'admin');
  const cookie = await signedInCookie(app.deps, app.tenant, person);
  const owner = async (method: string, body?: object) =>
    app.request(`/api/team/members/${person.id}`, {
      ...(await stage.as('owner', 'session')),
      method,
      ...(body && {
        body: JSON.stringify(body),
        headers: { ...((await stage.as('owner', 'session')).headers as object), 'content-type': 'application/json' },
      }),
    });
  const status = async (path: string) => (await app.request(path, { as: null, headers: { cookie } })).status;
  expect([await status('/api/audit'), await status(`/api/workspaces/${workspace}`)]).toEqual([200, 200]);
  expect((await owner('PATCH', { role: 'editor' })).status).toBe(200);
  expect(await status('/api/audit')).toBe(403);
  await app.deps.db.query(`INSERT INTO workspace (id, tenant_id, name) VALUES ($1, $2, 'elsewhere')`, [
    person.id,
    app.tenant,
  ]);
  expect((await owner('PATCH', { workspaces: ['elsewhere'] })).status).toBe(200);
  expect(await status(`/api/workspaces/${workspace}`)).toBe(404);
  expect(await (await app.request('/api/workspaces', { as: null, headers: { cookie } })).json()).toMatchObject({
    workspaces: [{ name: 'elsewhere' }],
  });
  expect((await owner('DELETE')).status).toBe(200);
  expect(await status('/api/me')).toBe(401);
});

test('security 24: the app serves nothing that is not in the route table', async () => {
  const table = new Set(
    routes.map(({ method, path }) => `${method.toUpperCase()} ${path.replace(/\{([^}]+)\}/g, ':$1')}`),
  );
  const served = createApp((await createTestApp()).deps).routes.filter(({ method }) => method !== 'ALL');
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
