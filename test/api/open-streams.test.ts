import { expect, test } from 'vitest';
import { mintKey } from '../../src/people/index.js';
import { newId } from '../../src/shared/ids.js';
import { createTestApp } from '../support/create-test-app.js';
import { endsWithin } from '../support/in-time.js';
import { insertWorkspace } from '../support/workspace-row.js';

/** A run that stays as it is, and a member who follows it by a key of theirs. */
async function following() {
  const app = await createTestApp();
  const { deps, tenant } = app;
  const workspaceId = await insertWorkspace(deps, tenant, 'shop');
  const run = newId();
  await deps.db.query(
    `INSERT INTO run (id, tenant_id, workspace_id, flow, plan_id, revision, root_id, trigger, slots, tags, memory_writes)
     VALUES ($1, $2, $3, 'f', 'p', 'r', $1, '{}', '{}', '{}', '{}')`,
    [run, tenant, workspaceId],
  );
  const member = { id: newId(), email: `m-${newId()}@x.test` };
  await deps.db.query(
    `INSERT INTO member (id, tenant_id, email, role, password_hash, workspaces) VALUES ($1, $2, $3, 'editor', 'none', '{}')`,
    [member.id, tenant, member.email],
  );
  const { key, id: keyId } = await mintKey(deps.db, { tenant, label: 'x', role: 'editor', mintedBy: member });
  const path = `/api/workspaces/shop/runs/${run}/stream?after=0`;
  const response = await app.get(path, { as: key });
  expect(response.status).toBe(200);
  /** Settles when the stream has ended; the text that came before is of no matter. */
  const ended = response.text().then(() => true);
  const sql = (text: string) => deps.db.query(text, [text.includes('api_key') ? keyId : member.id]);
  const again = async () => (await app.get(path, { as: key })).status;
  return { ended, sql, again };
}

const CASES: readonly (readonly [string, string, number])[] = [
  ['a removed member', 'DELETE FROM member WHERE id = $1', 401],
  [
    'a member narrowed to other workspaces',
    `UPDATE member SET all_workspaces = false, workspaces = '{other}' WHERE id = $1`,
    404,
  ],
  ['a revoked key', 'UPDATE api_key SET revoked_at = now() WHERE id = $1', 401],
  ['a key that has expired meanwhile', `UPDATE api_key SET expires_at = now() - interval '1 s' WHERE id = $1`, 401],
];

test.each(CASES)(
  'security 27: the open stream of %s closes within 5 s, and opens no more',
  async (_who, change, status) => {
    const { ended, sql, again } = await following();
    await sql(change);
    expect(await endsWithin(5_000, ended)).toBe(true);
    expect(await again()).toBe(status);
  },
);

test('security 27: the open stream of a demoted member closes within 5 s, and what opens anew shows what a viewer sees', async () => {
  const { ended, sql, again } = await following();
  await sql(`UPDATE member SET role = 'viewer' WHERE id = $1`);
  expect(await endsWithin(5_000, ended)).toBe(true);
  expect(await again()).toBe(200);
});
