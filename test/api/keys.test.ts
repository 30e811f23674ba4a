import { expect, test } from 'vitest';
import { createApp } from '../../src/api/app.js';
import { mintKey } from '../../src/people/index.js';
import { createKey, createTenant, createTestApp, type TestApp } from '../support/create-test-app.js';
import { insertWorkspace } from '../support/workspace-row.js';

interface Key {
  readonly id: string;
  readonly key: string;
  readonly prefix: string;
  readonly role: string;
}

async function mint(app: TestApp, body: object, init = {}): Promise<Key> {
  const response = await app.post('/api/keys', { label: 'CI', ...body }, init);
  expect([response.status, response.headers.get('cache-control')]).toEqual([201, 'no-store']);
  return (await response.json()) as Key;
}

const listed = async (app: TestApp, query = '', init = {}) =>
  (await (await app.get(`/api/keys${query}`, init)).json()) as { keys: Key[]; next: string | null };

test('a minted key is an editor’s, works at once, and is shown once', async () => {
  const app = await createTestApp();
  const minted = await mint(app, {});
  expect(minted).toEqual({
    id: expect.any(String),
    label: 'CI',
    tenant: app.tenant,
    role: 'editor',
    prefix: minted.key.slice(4, 12),
    mintedBy: expect.stringContaining('admin-'),
    createdAt: expect.any(String),
    lastUsedAt: null,
    expiresAt: null,
    key: expect.stringMatching(/^sbx_[a-zA-Z0-9]{8}_[a-zA-Z0-9]{46}$/),
  });
  expect(await (await app.get('/api/me', { as: minted.key })).json()).toMatchObject({ role: 'editor' });
  const { keys } = await listed(app);
  const { key, ...rest } = minted;
  expect(keys[0]).toEqual({ ...rest, lastUsedAt: expect.any(String) });
  expect(JSON.stringify(keys)).not.toContain(key);
  const rows = await app.deps.db.query<object>('SELECT * FROM api_key WHERE id = $1', [minted.id]);
  expect(JSON.stringify(rows)).not.toContain(key);
});

test('an owner’s key is an admin’s, and no key is minted as an owner’s', async () => {
  const app = await createTestApp({ role: 'owner' });
  const minted = await mint(app, { role: 'admin' });
  expect(await (await app.get('/api/me', { as: minted.key })).json()).toMatchObject({ role: 'admin' });
  expect((await app.post('/api/keys', { label: 'x', role: 'owner' })).status).toBe(422);
});

test('a key of a key ends with the member behind both', async () => {
  const app = await createTestApp();
  const first = await mint(app, { role: 'admin' });
  const second = await mint(app, { role: 'admin' }, { as: first.key });
  await app.deps.db.query(`DELETE FROM member WHERE tenant_id = $1 AND email LIKE 'admin-%'`, [app.tenant]);
  for (const { key } of [first, second]) expect((await app.get('/api/me', { as: key })).status).toBe(401);
});

test('a revoked key is refused by the next request to any process, and is in no list', async () => {
  const app = await createTestApp();
  const other = createApp(app.deps);
  const { id, key } = await mint(app, {});
  const asks = async () => (await other.request('/api/me', { headers: { authorization: `Bearer ${key}` } })).status;
  expect(await asks()).toBe(200);
  expect(await (await app.delete(`/api/keys?id=${id}`)).json()).toEqual({ ok: true, id });
  expect(await asks()).toBe(401);
  expect((await listed(app)).keys.map((each) => each.id)).not.toContain(id);
  expect((await app.delete(`/api/keys?id=${id}`)).status).toBe(404);
});

test('the id of a key to revoke may stand in the body, and must stand somewhere', async () => {
  const app = await createTestApp();
  const { id } = await mint(app, {});
  const inBody = { body: JSON.stringify({ id }), headers: { 'content-type': 'application/json' } };
  expect((await app.delete('/api/keys', inBody)).status).toBe(200);
  const none = await app.delete('/api/keys');
  expect([none.status, await none.json()]).toMatchObject([422, { error: expect.stringContaining('?id=') }]);
});

test('a key of another account can be neither seen nor revoked, and another account cannot be named', async () => {
  const app = await createTestApp();
  const foreign = await createTenant(app.deps);
  const { id, key } = await mintKey(app.deps.db, { ...foreign, label: 'x', role: 'admin', mintedBy: foreign.owner });
  expect((await app.delete(`/api/keys?id=${id}`)).status).toBe(404);
  expect((await app.get('/api/me', { as: key })).status).toBe(200);
  expect((await app.get(`/api/keys?tenant=${foreign.tenant}`)).status).toBe(404);
  expect((await app.delete(`/api/keys?id=${id}&tenant=${foreign.tenant}`)).status).toBe(404);
  expect((await app.post('/api/keys', { label: 'x', tenant: foreign.tenant })).status).toBe(404);
  expect((await listed(app, `?tenant=${app.tenant}`)).keys.length).toBe(1);
});

test('a key expires at its time, and none is minted for a time that is past', async () => {
  const app = await createTestApp();
  const { id, key } = await mint(app, { expiresAt: new Date(Date.now() + 3_600_000).toISOString() });
  expect((await app.get('/api/me', { as: key })).status).toBe(200);
  await app.deps.db.query(`UPDATE api_key SET expires_at = expires_at - interval '1 hour' WHERE id = $1`, [id]);
  expect((await app.get('/api/me', { as: key })).status).toBe(401);
  const past = await app.post('/api/keys', { label: 'x', expiresAt: new Date(Date.now() - 1_000).toISOString() });
  expect(past.status).toBe(422);
});

test('a deploy key names one workspace and its access, and is refused by every route', async () => {
  const app = await createTestApp();
  await insertWorkspace(app.deps, app.tenant, 'shop');
  const read = await mint(app, { workspace: 'shop', access: 'read' });
  const write = await mint(app, { workspace: 'shop', access: 'write' });
  expect([read, write]).toMatchObject([
    { workspace: 'shop', access: 'read', role: 'viewer' },
    { workspace: 'shop', access: 'write', role: 'editor' },
  ]);
  for (const { key } of [read, write]) {
    const answer = await app.get('/api/workspaces/shop', { as: key });
    expect([answer.status, await answer.json()]).toEqual([
      403,
      { error: 'a deploy key works for git clone and push only', code: 'deploy-key' },
    ]);
  }
});

test('a deploy key that is half said, or for a workspace out of sight, is refused', async () => {
  const app = await createTestApp();
  await insertWorkspace(app.deps, app.tenant, 'shop');
  const tries = [
    [{ workspace: 'shop' }, 422],
    [{ access: 'read' }, 422],
    [{ workspace: 'shop', access: 'read', role: 'admin' }, 422],
    [{ workspace: 'nowhere', access: 'read' }, 404],
  ] as const;
  for (const [body, status] of tries)
    expect((await app.post('/api/keys', { label: 'x', ...body })).status).toBe(status);
});

test('a member narrowed to some workspaces sees, mints and revokes no deploy key of another one', async () => {
  const app = await createTestApp();
  await insertWorkspace(app.deps, app.tenant, 'shop');
  await insertWorkspace(app.deps, app.tenant, 'vault');
  const { id } = await mint(app, { workspace: 'vault', access: 'read' });
  const as = await createKey(app.deps, { ...app, role: 'admin', workspaces: ['shop'] });
  expect((await listed(app, '', { as })).keys.map((key) => key.id)).not.toContain(id);
  expect((await app.delete(`/api/keys?id=${id}`, { as })).status).toBe(404);
  expect((await app.post('/api/keys', { label: 'x', workspace: 'vault', access: 'read' }, { as })).status).toBe(404);
  expect((await app.post('/api/keys', { label: 'x', workspace: 'shop', access: 'read' }, { as })).status).toBe(201);
});

test('an admin of some workspaces sees and revokes the keys that reach no other one, and is refused the others', async () => {
  const app = await createTestApp();
  for (const name of ['shop', 'vault']) await insertWorkspace(app.deps, app.tenant, name);
  const as = await createKey(app.deps, { ...app, role: 'admin', workspaces: ['shop'] });
  const scoped = async (workspaces: readonly string[]) => createKey(app.deps, { ...app, role: 'editor', workspaces });
  const idOf = async (key: string) =>
    (await app.deps.db.query<{ id: string }>('SELECT id FROM api_key WHERE prefix = $1', [key.slice(4, 12)]))[0]?.id ??
    '';
  const system = await mintKey(app.deps.db, { tenant: app.tenant, label: 'old', role: 'admin', mintedBy: null });
  const bootstrap = await mintKey(app.deps.db, { ...app, label: 'bootstrap', role: 'admin', mintedBy: app.owner });
  const [mine, both, theirs] = [await scoped(['shop']), await scoped(['shop', 'vault']), await scoped(['vault'])];
  const deploy = await mint(app, { workspace: 'shop', access: 'read' });
  const own = await mint(app, { role: 'editor' }, { as });
  const ids = [as, mine].map(idOf);
  const seen = [...(await Promise.all(ids)), deploy.id, own.id];
  expect((await listed(app, '', { as })).keys.map(({ id }) => id).toSorted()).toEqual(seen.toSorted());
  for (const id of [system.id, bootstrap.id, await idOf(both), await idOf(app.key)]) {
    const answer = await app.delete(`/api/keys?id=${id}`, { as });
    expect([answer.status, await answer.json()]).toEqual([
      403,
      expect.objectContaining({ need: 'every workspace', error: expect.stringContaining('this key reaches') }),
    ]);
  }
  expect((await app.delete(`/api/keys?id=${await idOf(theirs)}`, { as })).status).toBe(404);
  for (const id of [await idOf(mine), deploy.id, own.id])
    expect((await app.delete(`/api/keys?id=${id}`, { as })).status).toBe(200);
  for (const key of [system.key, bootstrap.key, both, theirs])
    expect((await app.get('/api/me', { as: key })).status).toBe(200);
});

test('the list of keys comes in pages, newest first', async () => {
  const app = await createTestApp();
  const ids: string[] = [];
  for (let n = 0; n < 3; n += 1) ids.unshift((await mint(app, {})).id);
  const first = await listed(app, '?limit=2');
  const second = await listed(app, `?limit=2&cursor=${first.next}`);
  expect([...first.keys, ...second.keys].map((key) => key.id).slice(0, 3)).toEqual(ids);
  expect(second.next).toBeNull();
});

test('who minted and who revoked a key, and from where, is in the audit, and the key is not', async () => {
  const app = await createTestApp({ config: { trustProxy: true } });
  const { id, key } = await mint(
    app,
    { expiresAt: '2999-01-01T00:00:00Z' },
    { headers: { 'x-forwarded-for': '10.1.1.1' } },
  );
  await app.delete(`/api/keys?id=${id}`, { headers: { 'x-forwarded-for': '10.2.2.2' } });
  const rows = await app.deps.db.query<object>(
    'SELECT action, target, address, actor, detail FROM audit_entry WHERE tenant_id = $1 ORDER BY id',
    [app.tenant],
  );
  expect(rows).toMatchObject([
    {
      action: 'key.mint',
      target: id,
      address: '10.1.1.1',
      actor: { kind: 'key' },
      detail: { label: 'CI', role: 'editor' },
    },
    { action: 'key.revoke', target: id, address: '10.2.2.2', detail: { label: 'CI' } },
  ]);
  expect(JSON.stringify(rows)).not.toContain(key);
});
