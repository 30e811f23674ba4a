import type { CliLoginPolled } from '../../../contract/auth.js';
import type { Deps } from '../../../deps.js';
import type { Sql } from '../../../platform/db/contract.js';
import { notFound, Refusal } from '../../../shared/refusal.js';
import type { Role } from '../../../shared/roles.js';
import { audit } from '../audit.js';
import { hashKey } from '../key-format.js';
import { mintKey } from '../mint-key.js';
import { POLL_INTERVAL } from './start-cli-login.js';

interface PolledRow {
  readonly hostname: string;
  readonly decision: 'approved' | 'denied' | null;
  readonly decidedBy: string | null;
  readonly expired: boolean;
  readonly early: boolean;
}

/**
 * The state of a terminal's sign-in. The key is created when it is fetched, so that it is never stored in the clear;
 * fetching also deletes the request, so it works once. Refuses `rate_limited` when the terminal polls an undecided
 * request more often than every `interval`.
 */
export async function pollCliLogin(
  deps: Pick<Deps, 'db'>,
  { id, address }: { readonly id: string; readonly address: string | null },
): Promise<CliLoginPolled> {
  if (!/^[a-zA-Z0-9]{32}$/.test(id)) throw notFound('sign-in');
  const idHash = hashKey(id);
  return deps.db.transaction(async (sql) => {
    const [row] = await sql.query<PolledRow>({
      name: 'poll-cli-login',
      text: `SELECT hostname, decision, decided_by AS "decidedBy", expires_at <= now() AS expired,
                    coalesce(polled_at > now() - make_interval(secs => $2), false) AS early
             FROM cli_login WHERE id_hash = $1 FOR UPDATE`,
      // Tolerate timers that fire slightly early.
      values: [idHash, POLL_INTERVAL * 0.9],
    });
    if (!row) throw notFound('sign-in');
    if (row.decision === 'denied') return { status: 'denied' };
    if (row.expired) return { status: 'expired' };
    if (row.decision === 'approved') return handOut(sql, idHash, { ...row, address });
    if (row.early)
      throw new Refusal('rate_limited', `nothing is decided yet: ask every ${POLL_INTERVAL} seconds`, {
        code: 'slow-down',
        retryAfter: POLL_INTERVAL,
      });
    await sql.query('UPDATE cli_login SET polled_at = now() WHERE id_hash = $1', [idHash]);
    return { status: 'pending' };
  });
}

async function handOut(
  sql: Sql,
  idHash: string,
  { hostname, decidedBy, address }: PolledRow & { readonly address: string | null },
): Promise<CliLoginPolled> {
  const [member] = await sql.query<{ email: string; tenant: string; role: Role }>(
    `SELECT m.email, m.tenant_id AS tenant, CASE WHEN t.owner_id = m.id THEN 'owner' ELSE m.role END AS role
     FROM member m JOIN tenant t ON t.id = m.tenant_id WHERE m.id = $1`,
    [decidedBy],
  );
  if (!member || decidedBy === null) return { status: 'denied' };
  const { email, tenant } = member;
  const role = member.role === 'owner' ? 'admin' : member.role;
  const mintedBy = { id: decidedBy, email };
  const minted = await mintKey(sql, { tenant, label: cliLabel(hostname), role, mintedBy });
  await sql.query('DELETE FROM cli_login WHERE id_hash = $1', [idHash]);
  const actor = { kind: 'person', id: decidedBy, label: email } as const;
  await audit(sql, { tenant, actor, address }, 'key.mint', minted.id, { label: cliLabel(hostname), role });
  return { status: 'approved', token: minted.key, account: tenant, email, role };
}

function cliLabel(hostname: string): string {
  return `CLI on ${hostname}`;
}
