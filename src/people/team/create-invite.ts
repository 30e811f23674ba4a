import type { InviteBody, Invited } from '../../contract/team.js';
import type { Deps } from '../../deps.js';
import type { Sql } from '../../platform/db/contract.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { audit } from '../accounts/audit.js';
import { makeInvite } from '../accounts/invites.js';
import { openInviteTo } from './find-invite.js';
import { lockTeam } from './find-member.js';
import { assertMayEndInvite, assertMayGive, assertRightsUnchanged } from './rules.js';
import { columnsOf, grantableScope, type Scope } from './scope.js';
import { inviteView } from './views.js';

export interface CreateInviteInput {
  readonly email: string;
  readonly role: Invited['role'];
  readonly workspaces: Scope;
}

export interface CreatedInvite {
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
