import type { Deps } from '../../deps.js';
import { notFound } from '../../shared/refusal.js';
import { hashInviteToken } from './invites.js';

export interface DescribedInvite {
  /** The account's display name. */
  readonly account: string;
  readonly email: string;
  readonly role: string;
  readonly expiresAt: Date;
}

/** The content of an open invite for the holder of its token. Every other token gets the same refusal. */
export async function describeInvite(deps: Pick<Deps, 'db'>, token: string): Promise<DescribedInvite> {
  const [row] = await deps.db.query<DescribedInvite>({
    name: 'describe-invite',
    text: `SELECT t.name AS account, i.email, i.role, i.expires_at AS "expiresAt"
           FROM invite i JOIN tenant t ON t.id = i.tenant_id
           WHERE i.token_hash = $1 AND i.accepted_at IS NULL AND i.revoked_at IS NULL AND i.expires_at > now()`,
    values: [hashInviteToken(token)],
  });
  if (row) return row;
  throw notFound('invite: it is used, revoked or expired; ask the person who invited you for a new one');
}
