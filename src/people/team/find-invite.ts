import type { Sql } from '../../platform/db/contract.js';
import { notFound } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import type { InviteRow } from './views.js';

export type OpenInvite = Pick<InviteRow, 'id' | 'email' | 'role' | 'allWorkspaces' | 'workspaces'>;

/** The open invite of this address, if there is one. */
export async function openInviteTo(
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
