import { createHash, randomBytes } from 'node:crypto';
import type { Deps } from '../../deps.js';
import type { Sql } from '../../platform/db/contract.js';
import { newId } from '../../shared/ids.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Role } from '../../shared/roles.js';

/** What an invite gives to the person who accepts it. */
interface Place {
  readonly role: Exclude<Role, 'owner'>;
  readonly allWorkspaces: boolean;
  /** Names; ignored when the member can access all workspaces. */
  readonly workspaces: readonly string[];
}

interface MakeInviteInput extends Place {
  readonly tenant: string;
  readonly email: string;
  /** The id of the inviting member. */
  readonly by: string;
}

interface MadeInvite {
  readonly id: string;
  /** Shown once: only its hash is kept. */
  readonly token: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

const VALID_FOR = '7 days';

/** The form in which addresses are stored and compared. */
function normalEmail(email: string): string {
  return email.trim().toLowerCase();
}

/** Creates an invite for one address and ends an open one to the same address. */
export async function makeInvite(sql: Sql, input: MakeInviteInput): Promise<MadeInvite> {
  const id = newId();
  const email = normalEmail(input.email);
  const token = randomBytes(24).toString('base64url');
  await sql.query({
    name: 'replace-invite',
    text: `UPDATE invite SET revoked_at = now()
           WHERE tenant_id = $1 AND email = $2 AND accepted_at IS NULL AND revoked_at IS NULL`,
    values: [input.tenant, email],
  });
  const { tenant, role, allWorkspaces, workspaces, by } = input;
  const [row] = await sql.query<{ createdAt: Date; expiresAt: Date }>({
    name: 'make-invite',
    text: `INSERT INTO invite (id, tenant_id, email, role, all_workspaces, workspaces, token_hash, created_by, expires_at)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, now() + interval '${VALID_FOR}') 
           RETURNING created_at AS "createdAt", expires_at AS "expiresAt"`,
    values: [id, tenant, email, role, allWorkspaces, workspaces, hashInviteToken(token), by],
  });
  if (!row) throw new Error('the invite was not written');
  return { id, token, ...row };
}

/**
 * Accepts the invite for its address; of concurrent calls one succeeds. Call it in the transaction that creates the
 * member, so that a failed sign-up leaves the invite open. A token that is wrong, used, revoked, expired or for another
 * address gets the same refusal (`forbidden`, code `invite`).
 */
export async function acceptInvite(
  tx: Sql,
  { token, email }: { readonly token: string; readonly email: string },
): Promise<Place & { readonly tenantId: string }> {
  const [row] = await tx.query<Place & { tenantId: string }>({
    name: 'accept-invite',
    text: `UPDATE invite SET accepted_at = now()
           WHERE token_hash = $1 AND email = $2 AND accepted_at IS NULL AND revoked_at IS NULL AND expires_at > now()
           RETURNING tenant_id AS "tenantId", role, all_workspaces AS "allWorkspaces", workspaces`,
    values: [hashInviteToken(token), normalEmail(email)],
  });
  if (row) return row;
  throw new Refusal(
    'forbidden',
    'this invite is not valid for this address: ask the person who invited you for a new one',
    {
      code: 'invite',
    },
  );
}

/** Whether the token belongs to an open invite for this address. */
export async function isOpenInvite(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  { token, email }: { readonly token: string; readonly email: string },
): Promise<boolean> {
  const invite = await db.prisma.invite.findFirst({
    select: { id: true },
    where: {
      tokenHash: hashInviteToken(token),
      email: normalEmail(email),
      acceptedAt: null,
      revokedAt: null,
      expiresAt: { gt: new Date(clock.now()) },
    },
  });
  return invite !== null;
}

/** The token has 192 random bits, so a slow hash would add nothing. */
function hashInviteToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

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
