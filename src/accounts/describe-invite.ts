import type { Deps } from '../deps.js';
import { notFound } from '../shared/refusal.js';
import { hashInviteToken } from './invites.js';

export interface DescribedInvite {
  /** The account's name as people write it. */
  readonly account: string;
  readonly email: string;
  readonly role: string;
  readonly expiresAt: Date;
}

/** What an open invite offers, to whoever holds its token; any other token refuses as one that never was. */
export async function describeInvite(deps: Pick<Deps, 'db'>, token: string): Promise<DescribedInvite> {
  const [row] = await deps.db.query<DescribedInvite>({
    name: 'describe-invite',
    text: `SELECT t.name AS account, i.email, i.role, i.expires_at AS "expiresAt"
           FROM invite i JOIN tenant t ON t.id = i.tenant_id
           WHERE i.token_hash = $1 AND i.accepted_at IS NULL AND i.revoked_at IS NULL AND i.expires_at > now()`,
    values: [hashInviteToken(token)],
  });
  if (row) return row;
  throw notFound('invite: it is used, revoked or expired; ask whoever invited you for a new one');
}
