import { expect, test } from 'vitest';
import { acceptInvite, makeInvite } from '../../src/people/index.js';
import { createTenant, createTestDeps } from '../support/create-test-app.js';

async function invited(email = 'Ada@Example.test') {
  const deps = await createTestDeps();
  const { tenant, owner } = await createTenant(deps);
  const scope = { role: 'editor', allWorkspaces: false, workspaces: ['shop'] } as const;
  const make = () => makeInvite(deps.db, { tenant, email, by: owner.id, ...scope });
  const accept = (token: string, as = email) =>
    deps.db.transaction((tx) => acceptInvite(tx, { token, email: as })).catch((error: Error) => error.message);
  return { deps, tenant, owner, scope, make, accept };
}

const REFUSED = 'this invite is not valid for this address: ask the person who invited you for a new one';

test('security 28: of twenty who take an invite at once one gets its place', async () => {
  const { tenant, scope, make, accept } = await invited();
  const { token } = await make();
  const answers = await Promise.all(Array.from({ length: 20 }, () => accept(token)));
  expect(answers.filter((answer) => answer !== REFUSED)).toEqual([{ tenantId: tenant, ...scope }]);
});

test('security 28: only the bound address can accept an invite, however it is written', async () => {
  const { make, accept } = await invited();
  const { token } = await make();
  expect(await accept(token, 'eve@example.test')).toBe(REFUSED);
  expect(await accept(token, ' ADA@example.TEST ')).toMatchObject({ role: 'editor' });
});

test('a wrong, expired, revoked or replaced invite is one and the same refusal', async () => {
  const { deps, make, accept } = await invited();
  expect(await accept('no-such-token')).toBe(REFUSED);
  const replaced = await make();
  const revoked = await make();
  expect(await accept(replaced.token)).toBe(REFUSED);
  await deps.db.query('UPDATE invite SET revoked_at = now() WHERE id = $1', [revoked.id]);
  expect(await accept(revoked.token)).toBe(REFUSED);
  const expired = await make();
  await deps.db.query(`UPDATE invite SET expires_at = now() - interval '1 second' WHERE id = $1`, [expired.id]);
  expect(await accept(expired.token)).toBe(REFUSED);
});

test('a sign-up that fails leaves the invite open', async () => {
  const { deps, make, accept } = await invited();
  const { token } = await make();
  const failing = deps.db.transaction(async (tx) => {
    await acceptInvite(tx, { token, email: 'ada@example.test' });
    throw new Error('the password was too short');
  });
  await expect(failing).rejects.toThrow('too short');
  expect(await accept(token)).toMatchObject({ role: 'editor' });
});

test('the database does not keep the token of an invite', async () => {
  const { deps, make } = await invited();
  const { token, id } = await make();
  const rows = await deps.db.query<object>('SELECT * FROM invite WHERE id = $1', [id]);
  expect(JSON.stringify(rows)).not.toContain(token);
});

test('security 27: the database refuses an account without its owner, and an owner of another account', async () => {
  const { deps, tenant, owner } = await invited();
  const other = await createTenant(deps);
  const constraint = /tenant_owner_id_id_fkey/;
  await expect(deps.db.query('DELETE FROM member WHERE id = $1', [owner.id])).rejects.toThrow(constraint);
  await expect(
    deps.db.query('UPDATE tenant SET owner_id = $2 WHERE id = $1', [other.tenant, owner.id]),
  ).rejects.toThrow();
  await expect(deps.db.query('UPDATE member SET tenant_id = $2 WHERE id = $1', [owner.id, 'x'])).rejects.toThrow(
    constraint,
  );
  expect(await deps.db.query('SELECT owner_id AS "id" FROM tenant WHERE id = $1', [tenant])).toEqual([
    { id: owner.id },
  ]);
});
