import { expect, test } from 'vitest';
import { mintKey } from '../../src/people/index.js';
import { createTestApp } from '../support/create-test-app.js';

test('a key learns its account, its role and itself', async () => {
  const { get, tenant, owner, key } = await createTestApp({ role: 'editor' });
  const response = await get('/api/me');
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({
    account: tenant,
    name: tenant,
    owner: owner.email,
    role: 'editor',
    workspaces: null,
    avatar: null,
    actor: {
      kind: 'key',
      id: expect.any(String),
      label: 'editor',
      prefix: key.slice(4, 12),
      mintedBy: expect.stringContaining('editor-'),
    },
  });
});

test('a key of a member narrowed to workspaces is narrowed with it', async () => {
  const { get } = await createTestApp({ role: 'viewer', workspaces: ['billing'] });
  expect(await (await get('/api/me')).json()).toMatchObject({ role: 'viewer', workspaces: ['billing'] });
});

test('a key from before roles acts as an admin', async () => {
  const { get, deps, tenant } = await createTestApp();
  const { key, id } = await mintKey(deps.db, { tenant, label: 'old', role: 'viewer', mintedBy: null });
  await deps.db.query('UPDATE api_key SET role = NULL WHERE id = $1', [id]);
  expect(await (await get('/api/me', { as: key })).json()).toMatchObject({ role: 'admin' });
});

test('a key follows its minter down at the next request, and never up', async () => {
  const { get, deps, tenant } = await createTestApp({ role: 'admin' });
  const setRole = (role: string) =>
    deps.db.query(`UPDATE member SET role = $2 WHERE tenant_id = $1 AND email LIKE 'admin-%'`, [tenant, role]);
  await setRole('viewer');
  expect(await (await get('/api/me')).json()).toMatchObject({ role: 'viewer' });
  await setRole('admin');
  expect(await (await get('/api/me')).json()).toMatchObject({ role: 'admin' });
});

test('a key ends with the member who minted it', async () => {
  const { get, deps, tenant } = await createTestApp({ role: 'editor' });
  await deps.db.query(`DELETE FROM member WHERE tenant_id = $1 AND email LIKE 'editor-%'`, [tenant]);
  expect((await get('/api/me')).status).toBe(401);
});

test('the last use of a key is written, and not again within a minute', async () => {
  const { get, deps, key } = await createTestApp();
  const lastUse = async () =>
    (
      await deps.db.query<{ at: Date | null }>('SELECT last_used_at AS at FROM api_key WHERE prefix = $1', [
        key.slice(4, 12),
      ])
    )[0]?.at;
  expect(await lastUse()).toBeNull();
  await get('/api/me');
  const first = await lastUse();
  expect(first).toBeInstanceOf(Date);
  await get('/api/me');
  expect(await lastUse()).toEqual(first);
});

test('who calls is kept by no cache', async () => {
  const app = await createTestApp({ role: 'viewer' });
  for (const path of ['/api/me', '/api/auth/session'])
    expect([path, (await app.get(path)).headers.get('cache-control')]).toEqual([path, 'no-store']);
});
