import { expect, test } from 'vitest';
import { deleteWorkspace } from '../../src/content/index.js';
import { inviteMember } from '../../src/notify/index.js';
import {
  acceptInvite,
  changeMember,
  listTeam,
  removeMember,
  revokeInvite,
  transferAccount,
} from '../../src/people/index.js';
import { newId } from '../../src/shared/ids.js';
import { Refusal } from '../../src/shared/refusal.js';
import type { Caller, Role } from '../../src/shared/roles.js';
import { createTenant, createTestDeps } from '../support/create-test-app.js';
import { insertWorkspace } from '../support/workspace-row.js';

type Scope = readonly string[] | null;

/** An account with members, each a signed-in person. */
async function account() {
  const deps = await createTestDeps();
  const { tenant, owner } = await createTenant(deps);
  for (const name of ['shop', 'lab', 'desk']) await insertWorkspace(deps, tenant, name);
  const person = (id: string, email: string, role: Role, workspaces: Scope): Caller => ({
    tenant,
    role,
    workspaces,
    actor: { kind: 'person', id, label: email },
    person: { id, email },
    signedIn: true,
    address: '10.0.0.9',
  });
  async function join(role: Exclude<Role, 'owner'>, workspaces: Scope = null) {
    const id = newId();
    const email = `${role}-${id}@x.test`;
    await deps.db.query(
      `INSERT INTO member (id, tenant_id, email, role, password_hash, all_workspaces, workspaces)
       VALUES ($1, $2, $3, $4, 'none', $5, $6)`,
      [id, tenant, email, role, workspaces === null, workspaces ?? []],
    );
    return { id, email, caller: person(id, email, role, workspaces) };
  }
  const boss = person(owner.id, owner.email, 'owner', null);
  const ownerId = async () =>
    (await deps.db.query<{ id: string }>('SELECT owner_id AS id FROM tenant WHERE id = $1', [tenant]))[0]?.id;
  return { deps, tenant, owner, boss, join, ownerId };
}

const ALL = { limit: 200 };
const invite = (role: 'viewer' | 'editor' | 'admin', workspaces: Scope = null, email = `${newId()}@x.test`) => ({
  email,
  role,
  workspaces,
  send: false,
});

/** What a refusal says a caller lacks, or the kind of refusal. */
async function outcome(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
    return 'done';
  } catch (error) {
    if (error instanceof Refusal) return error.details.need ?? error.kind;
    throw error;
  }
}

test('an admin invites, re-roles and removes viewers and editors, and of admins only the owner does', async () => {
  const { deps, boss, join } = await account();
  const { caller: admin } = await join('admin');
  for (const [caller, ofAdmins] of [
    [admin, 'owner'],
    [boss, 'done'],
  ] as const) {
    const viewer = await join('viewer');
    const other = await join('admin');
    expect(await outcome(inviteMember(deps, caller, invite('editor')))).toBe('done');
    expect(await outcome(inviteMember(deps, caller, invite('admin')))).toBe(ofAdmins);
    expect(await outcome(changeMember(deps, caller, { id: viewer.id, role: 'editor' }))).toBe('done');
    expect(await outcome(changeMember(deps, caller, { id: viewer.id, role: 'admin' }))).toBe(ofAdmins);
    expect(await outcome(changeMember(deps, caller, { id: other.id, role: 'viewer' }))).toBe(ofAdmins);
    expect(await outcome(changeMember(deps, caller, { id: other.id, workspaces: ['shop'] }))).toBe(ofAdmins);
    expect(await outcome(removeMember(deps, caller, (await join('editor')).id))).toBe('done');
    expect(await outcome(removeMember(deps, caller, (await join('admin')).id))).toBe(ofAdmins);
  }
});

test('security 24: nobody ends by a new invite an open one that they may not revoke', async () => {
  const { deps, boss, join } = await account();
  const { caller: admin } = await join('admin');
  const { caller: narrow } = await join('admin', ['shop']);
  const open = async () => (await listTeam(deps, boss, ALL)).invites.map(({ email, role }) => ({ email, role }));
  const ofAdmin = await inviteMember(deps, boss, invite('admin'));
  const ofLab = await inviteMember(deps, boss, invite('editor', ['lab']));
  expect(await outcome(inviteMember(deps, admin, invite('viewer', null, ofAdmin.email)))).toBe('owner');
  expect(await outcome(inviteMember(deps, narrow, invite('viewer', ['shop'], ofLab.email)))).toBe('every workspace');
  expect(await open()).toEqual([ofAdmin, ofLab].map(({ email, role }) => ({ email, role })));
  expect(await outcome(inviteMember(deps, admin, invite('viewer', null, ofLab.email)))).toBe('done');
});

test('a member who is removed leaves no session behind', async () => {
  const { deps, boss, join } = await account();
  const { id } = await join('viewer');
  const row = [newId(), id, newId()];
  await deps.db.query(
    `INSERT INTO session (id, member_id, token_hash, expires_at) VALUES ($1, $2, $3, now() + interval '1 day')`,
    row,
  );
  await removeMember(deps, boss, id);
  expect(await deps.db.query('SELECT id FROM session WHERE member_id = $1', [id])).toEqual([]);
});

test('security 27: an invite that makes an admin ends when the owner who gave it is the owner no more', async () => {
  const { deps, boss, join } = await account();
  const heir = await join('admin');
  await inviteMember(deps, boss, invite('admin'));
  const ofEditor = await inviteMember(deps, boss, invite('editor'));
  await transferAccount(deps, boss, heir.id);
  expect((await listTeam(deps, boss, ALL)).invites.map(({ id }) => id)).toEqual([ofEditor.id]);
});

test('security 27: the owner is never re-roled and never removed, not even by themselves', async () => {
  const { deps, boss, owner, join, ownerId } = await account();
  const { caller: admin } = await join('admin');
  for (const caller of [admin, boss]) {
    expect(await outcome(changeMember(deps, caller, { id: owner.id, role: 'viewer' }))).toBe('conflict');
    expect(await outcome(removeMember(deps, caller, owner.id))).toBe('conflict');
  }
  expect(await ownerId()).toBe(owner.id);
});

test('nobody changes their own role or workspaces', async () => {
  const { deps, join } = await account();
  const { id, caller } = await join('admin');
  expect(await outcome(changeMember(deps, caller, { id, role: 'editor' }))).toBe('another person');
  expect(await outcome(changeMember(deps, caller, { id, workspaces: ['shop'] }))).toBe('another person');
  expect(await outcome(removeMember(deps, caller, id))).toBe('owner');
});

test('security 27: of transfers at once one takes, there is one owner, and the one before is an admin', async () => {
  const { deps, boss, owner, join, ownerId } = await account();
  const heirs = await Promise.all([join('viewer', ['shop']), join('editor'), join('admin')]);
  const outcomes = await Promise.all(heirs.map(({ id }) => outcome(transferAccount(deps, boss, id))));
  expect([...outcomes].sort()).toEqual(['done', 'owner', 'owner']);
  const heir = heirs[outcomes.indexOf('done')];
  expect(await ownerId()).toBe(heir?.id);
  const { members } = await listTeam(deps, boss, ALL);
  expect(members.filter(({ role }) => role === 'owner')).toMatchObject([{ id: heir?.id, workspaces: null }]);
  expect(members.find(({ id }) => id === owner.id)).toMatchObject({ role: 'admin', workspaces: null });
});

test('an account is transferred to a member by id or address, and to nobody else', async () => {
  const { deps, boss, owner, join, ownerId } = await account();
  const foreign = await createTenant(deps);
  const { id, email } = await join('viewer');
  expect(await outcome(transferAccount(deps, boss, 'nobody'))).toBe('not_found');
  expect(await outcome(transferAccount(deps, boss, foreign.owner.id))).toBe('not_found');
  expect(await outcome(transferAccount(deps, boss, owner.id))).toBe('conflict');
  expect(await transferAccount(deps, boss, email.toUpperCase())).toEqual({ ok: true, owner: { id, email } });
  expect(await ownerId()).toBe(id);
});

test('a member of another account is a missing one', async () => {
  const { deps, boss } = await account();
  const foreign = await createTenant(deps);
  expect(await outcome(changeMember(deps, boss, { id: foreign.owner.id, role: 'viewer' }))).toBe('not_found');
  expect(await outcome(removeMember(deps, boss, foreign.owner.id))).toBe('not_found');
});

test('an admin narrowed to some workspaces gives no more than these, and acts on nobody who sees more', async () => {
  const { deps, join } = await account();
  const { caller } = await join('admin', ['shop', 'lab']);
  const all = await join('editor');
  const some = await join('editor', ['shop']);
  expect(await outcome(inviteMember(deps, caller, invite('editor')))).toBe('every workspace');
  expect(await outcome(inviteMember(deps, caller, invite('editor', ['desk'])))).toBe('refused');
  expect(await outcome(inviteMember(deps, caller, invite('editor', ['lab', 'lab'])))).toBe('done');
  expect(await outcome(changeMember(deps, caller, { id: all.id, role: 'viewer' }))).toBe('every workspace');
  expect(await outcome(removeMember(deps, caller, all.id))).toBe('every workspace');
  expect(await outcome(changeMember(deps, caller, { id: some.id, workspaces: null }))).toBe('every workspace');
  expect(await changeMember(deps, caller, { id: some.id, workspaces: ['lab', 'shop'] })).toMatchObject({
    workspaces: ['lab', 'shop'],
    role: 'editor',
  });
});

test('a team’s list names to a narrowed member no workspace that they do not see', async () => {
  const { deps, boss, join } = await account();
  const { caller } = await join('viewer', ['shop']);
  await join('editor', ['desk', 'shop']);
  await inviteMember(deps, boss, invite('editor', ['lab']));
  const team = await listTeam(deps, caller, ALL);
  expect(JSON.stringify(team)).not.toMatch(/desk|lab/);
  expect(JSON.stringify(await listTeam(deps, boss, ALL))).toMatch(/desk.*lab/);
});

test('a workspace that is not there is refused by its name', async () => {
  const { deps, boss } = await account();
  const work = inviteMember(deps, boss, invite('editor', ['shop', 'nowhere']));
  await expect(work).rejects.toThrow('workspaces: there is no workspace nowhere');
});

test('who was demoted or removed while their request was under way acts on nobody any more', async () => {
  const { deps, boss, join } = await account();
  const admin = await join('admin');
  const viewer = await join('viewer');
  await changeMember(deps, boss, { id: admin.id, role: 'viewer' });
  expect(await outcome(removeMember(deps, admin.caller, viewer.id))).toBe('admin');
  await removeMember(deps, boss, admin.id);
  expect(await outcome(inviteMember(deps, admin.caller, invite('viewer')))).toBe('unauthenticated');
});

test('invites that somebody sent end when they may do less, and when they are removed', async () => {
  const { deps, boss, join } = await account();
  const [first, second] = [await join('admin'), await join('admin')];
  const sent = [await inviteMember(deps, first.caller, invite('editor', null, 'a@x.test'))];
  await inviteMember(deps, second.caller, invite('editor', null, 'b@x.test'));
  expect((await listTeam(deps, boss, ALL)).invites.map(({ email }) => email)).toEqual(['a@x.test', 'b@x.test']);
  expect(await changeMember(deps, boss, { id: first.id, workspaces: ['shop'] })).toMatchObject({ invitesRevoked: 1 });
  await removeMember(deps, boss, second.id);
  expect((await listTeam(deps, boss, ALL)).invites).toEqual([]);
  const token = new URL(sent[0]?.link ?? '').searchParams.get('token') ?? '';
  const accepting = deps.db.transaction((tx) => acceptInvite(tx, { token, email: 'a@x.test' }));
  expect(await outcome(accepting)).toBe('forbidden');
});

test('an invite answers its link and can be revoked once; an open one of an admin by the owner only', async () => {
  const { deps, boss, tenant, join } = await account();
  const { caller: admin } = await join('admin');
  const made = await inviteMember(deps, boss, invite('admin', ['shop'], 'New@X.test'));
  expect(made).toEqual({
    id: expect.any(String),
    email: 'new@x.test',
    role: 'admin',
    workspaces: ['shop'],
    createdAt: expect.any(String),
    expiresAt: expect.any(String),
    link: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/join\?token=[\w-]{32}$/),
    sent: false,
    reason: 'not asked for: pass the link on yourself',
  });
  expect(await outcome(revokeInvite(deps, admin, made.id))).toBe('owner');
  expect(await outcome(revokeInvite(deps, boss, made.id))).toBe('done');
  expect(await outcome(revokeInvite(deps, boss, made.id))).toBe('not_found');
  const rows = await deps.db.query<object>('SELECT * FROM audit_entry WHERE tenant_id = $1', [tenant]);
  expect(JSON.stringify(rows, (_key, value) => (typeof value === 'bigint' ? String(value) : value))).not.toContain(
    new URL(made.link).searchParams.get('token'),
  );
});

test('an address that is a member here or elsewhere is not invited', async () => {
  const { deps, boss, owner } = await account();
  const foreign = await createTenant(deps);
  for (const { email } of [owner, foreign.owner])
    expect(await outcome(inviteMember(deps, boss, invite('viewer', null, email.toUpperCase())))).toBe('conflict');
});

test('every act on the team is in the audit, with who did it and from where', async () => {
  const { deps, boss, tenant, join } = await account();
  const { id } = await join('viewer');
  const { id: inviteId } = await inviteMember(deps, boss, invite('editor', null, 'z@x.test'));
  await revokeInvite(deps, boss, inviteId);
  await changeMember(deps, boss, { id, role: 'editor' });
  await removeMember(deps, boss, id);
  const heir = await join('admin');
  await transferAccount(deps, boss, heir.id);
  const rows = await deps.db.query<{ action: string; target: string }>(
    `SELECT action, target FROM audit_entry
     WHERE tenant_id = $1 AND address = '10.0.0.9' AND actor->>'id' = $2 ORDER BY id`,
    [tenant, boss.actor.id],
  );
  expect(rows.map(({ action, target }) => [action, target])).toEqual([
    ['team.invite', 'z@x.test'],
    ['team.invite-revoke', 'z@x.test'],
    ['team.change', id],
    ['team.remove', id],
    ['team.transfer', heir.id],
  ]);
});

test('a workspace that is deleted leaves every scope, that of an invite which is being accepted too', async () => {
  const { deps, boss, join } = await account();
  const member = await join('viewer', ['lab', 'shop']);
  const { link } = await inviteMember(deps, boss, invite('viewer', ['lab', 'shop'], 'late@x.test'));
  const token = new URL(link).searchParams.get('token') ?? '';
  const id = newId();
  let accepted: () => void = () => undefined;
  const afterAccept = new Promise<void>((resolve) => {
    accepted = resolve;
  });
  let letGo: () => void = () => undefined;
  const commit = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const accepting = deps.db.transaction(async (tx) => {
    const { tenantId, workspaces } = await acceptInvite(tx, { token, email: 'late@x.test' });
    await tx.query(
      `INSERT INTO member (id, tenant_id, email, role, password_hash, all_workspaces, workspaces)
       VALUES ($1, $2, $3, 'viewer', 'none', false, $4)`,
      [id, tenantId, `late-${id}@x.test`, workspaces],
    );
    accepted();
    await commit;
  });
  await afterAccept;
  const deleting = deleteWorkspace(deps, boss, { workspace: 'lab', force: false });
  const waits = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%UPDATE invite s SET workspaces%'`;
  await expect.poll(async () => (await deps.db.query(waits)).length).toBeGreaterThan(0);
  letGo();
  await Promise.all([accepting, deleting]);
  const { members } = await listTeam(deps, boss, ALL);
  for (const who of [id, member.id]) expect(members.find((each) => each.id === who)?.workspaces).toEqual(['shop']);
});
