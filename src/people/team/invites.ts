import type { Ok } from '../../contract/runs.js';
import type { InviteBody, Invited } from '../../contract/team.js';
import type { Deps } from '../../deps.js';
import type { Sql } from '../../platform/db/contract.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { audit } from '../accounts/audit.js';
import { makeInvite } from '../accounts/invites.js';
import { lockTeam } from './members.js';
import {
  assertMayEndInvite,
  assertMayGive,
  assertRightsUnchanged,
  columnsOf,
  grantableScope,
  type InviteRow,
  inviteView,
  type Scope,
} from './rules.js';

export interface CreateInviteInput {
  readonly email: string;
  readonly role: Invited['role'];
  readonly workspaces: Scope;
}

interface CreatedInvite {
  readonly invite: InviteBody;
  /** Accepts the invite; the database has its hash only. */
  readonly token: string;
}

/** Creates an invite for one address; only that address can accept it. */
export async function createInvite(deps: Deps, caller: Caller, input: CreateInviteInput): Promise<CreatedInvite> {
  const { role } = input;
  if (deps.config.signup === 'closed')
    throw new Refusal('conflict', 'an invite could not be accepted: sign-up is closed here (SERVICE_SIGNUP)', {
      code: 'signup-closed',
    });
  const email = input.email.toLowerCase();
  const made = await deps.db.transaction(async (sql) => {
    await lockTeam(sql, caller);
    await assertRightsUnchanged(sql, caller);
    assertMayGive(caller, role);
    const scope = await grantableScope(sql, caller, input.workspaces);
    await refuseMember(sql, caller, email);
    const replaced = await openInviteTo(sql, caller, email);
    if (replaced) assertMayEndInvite(caller, replaced);
    const by = caller.person?.id ?? caller.actor.id;
    const invite = await makeInvite(sql, { tenant: caller.tenant, email, role, ...columnsOf(scope), by });
    await audit(sql, caller, 'team.invite', email, { invite: invite.id, role, workspaces: scope });
    return { ...invite, scope };
  });
  const row = { ...made, email, role, ...columnsOf(made.scope) };
  return { invite: inviteView(caller, row), token: made.token };
}

/** An address can belong to one account only. */
async function refuseMember(sql: Sql, caller: Caller, email: string): Promise<void> {
  const [member] = await sql.query<{ tenant: string }>('SELECT tenant_id AS tenant FROM member WHERE email = $1', [
    email,
  ]);
  if (!member) return;
  const ours = member.tenant === caller.tenant;
  throw new Refusal(
    'conflict',
    ours
      ? `${email} is a member already: change their role or workspaces instead`
      : `${email} belongs to another account, and an address belongs to one: invite another address of theirs`,
    { code: ours ? 'member' : 'address-taken' },
  );
}

type OpenInvite = Pick<InviteRow, 'id' | 'email' | 'role' | 'allWorkspaces' | 'workspaces'>;

/** The open invite of this address, if there is one. */
async function openInviteTo(
  sql: Sql,
  { tenant }: Pick<Caller, 'tenant'>,
  email: string,
): Promise<OpenInvite | undefined> {
  const [invite] = await sql.query<OpenInvite>({
    name: 'open-invite-to',
    text: `SELECT id, email, role, all_workspaces AS "allWorkspaces", workspaces FROM invite
           WHERE tenant_id = $1 AND email = $2 AND accepted_at IS NULL AND revoked_at IS NULL AND expires_at > now()`,
    values: [tenant, email],
  });
  return invite;
}

/** An open invite of the caller's account; any other one is refused as missing. */
export async function findInvite(sql: Sql, caller: Pick<Caller, 'tenant'>, id: string): Promise<OpenInvite> {
  const [invite] = await sql.query<OpenInvite>({
    name: 'find-invite',
    text: `SELECT id, email, role, all_workspaces AS "allWorkspaces", workspaces FROM invite
           WHERE id = $1 AND tenant_id = $2 AND accepted_at IS NULL AND revoked_at IS NULL AND expires_at > now()`,
    values: [id, caller.tenant],
  });
  if (!invite) throw notFound('invite');
  return invite;
}

/** Revokes an open invite, which voids its link. An invite that is being accepted at the same time is not open. */
export async function revokeInvite(deps: Pick<Deps, 'db'>, caller: Caller, id: string): Promise<Ok> {
  await deps.db.transaction(async (sql) => {
    await lockTeam(sql, caller);
    const invite = await findInvite(sql, caller, id);
    await assertRightsUnchanged(sql, caller);
    assertMayEndInvite(caller, invite);
    const revoked = await sql.query(
      'UPDATE invite SET revoked_at = now() WHERE id = $1 AND accepted_at IS NULL AND revoked_at IS NULL RETURNING 1',
      [id],
    );
    if (revoked.length === 0) throw notFound('invite');
    await audit(sql, caller, 'team.invite-revoke', invite.email, { invite: id });
  });
  return { ok: true };
}
