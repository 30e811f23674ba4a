import type { CliLoginPolled, CliLoginRequest, CliLoginStarted } from '../../contract/auth.js';
import type { Deps } from '../../deps.js';
import type { Sql, TableRow } from '../../platform/db/contract.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Caller, Role } from '../../shared/roles.js';
import { checkToken, deriveToken } from '../../shared/tokens.js';
import { hashKey, mintKey } from './api-keys.js';
import { audit } from './audit.js';
import { callerOf, countAttempt, undoAttempt } from './limits.js';
import { randomCode, randomCodeOf } from './primitives.js';

/** Twenty consonants: codes form no words, and no two look alike (RFC 8628, 6.1). 34 bits. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';

/** Seconds between two polls. */
const POLL_INTERVAL = 5;

/** Starts a terminal's sign-in. `base` is the address at which people reach the service. */
export async function startCliLogin(
  deps: Pick<Deps, 'db'>,
  { hostname, address, base }: { readonly hostname: string; readonly address: string | null; readonly base: string },
): Promise<CliLoginStarted> {
  await countAttempt(deps, { 'cli-caller': callerOf(address) });
  const id = randomCode(32);
  for (;;) {
    const code = newCliCode();
    const [row] = await deps.db.query<{ expiresAt: Date }>({
      name: 'start-cli-login',
      text: `INSERT INTO cli_login (id_hash, code, hostname, address, expires_at)
             VALUES ($1, $2, $3, $4, now() + interval '10 minutes')
             ON CONFLICT (code) DO NOTHING RETURNING expires_at AS "expiresAt"`,
      values: [hashKey(id), code, hostname, address],
    });
    if (!row) continue;
    const verifyUrl = `${base}/api/cli/authorize?code=${code}`;
    return { id, code, verifyUrl, expiresAt: row.expiresAt.toISOString(), interval: POLL_INTERVAL };
  }
}

const SHOWN = { code: true, hostname: true, address: true, createdAt: true, expiresAt: true, decision: true } as const;

interface LoginRow extends Pick<TableRow<'CliLogin'>, Exclude<keyof typeof SHOWN, 'decision'>> {
  readonly decision: 'approved' | 'denied' | null;
}

/**
 * The request of a code, for a person who may decide it. A request that another person decided is refused as missing.
 */
export async function describeCliLogin(
  deps: Pick<Deps, 'db' | 'clock'>,
  caller: Caller,
  code: string,
): Promise<CliLoginRequest> {
  const row = await findRequest(deps, caller, code);
  return {
    code: row.code,
    hostname: row.hostname,
    address: row.address,
    status: row.decision ?? 'pending',
    createdAt: row.createdAt.toISOString(),
    expiresAt: row.expiresAt.toISOString(),
    account: caller.tenant,
    role: caller.role === 'owner' ? 'admin' : caller.role,
  };
}

/** Approves or denies a request once. The key is created with the person's role when the terminal fetches it. */
export async function decideCliLogin(
  deps: Pick<Deps, 'db' | 'clock'>,
  caller: Caller,
  { code, decision }: { readonly code: string; readonly decision: 'approve' | 'deny' },
): Promise<'approved' | 'denied'> {
  const wanted = decision === 'approve' ? 'approved' : 'denied';
  const found = await findRequest(deps, caller, code);
  const decided = await deps.db.transaction(async (sql) => {
    // The terminal polls every few seconds, so keep a request decided at the last moment long enough to be fetched.
    const rows = await sql.query(
      `UPDATE cli_login SET decision = $2, decided_by = $3, expires_at = greatest(expires_at, now() + interval '1 minute')
       WHERE code = $1 AND decision IS NULL AND expires_at > now() RETURNING 1`,
      [found.code, wanted, caller.person?.id ?? null],
    );
    if (rows.length > 0) await audit(sql, caller, `cli.${decision}`, found.hostname);
    return rows.length > 0;
  });
  if (decided) return wanted;
  const { decision: before } = await findRequest(deps, caller, code);
  throw new Refusal('conflict', `you have ${before ?? 'already'} this sign-in: start another in the terminal`, {
    code: 'already-decided',
  });
}

async function findRequest({ db, clock }: Pick<Deps, 'db' | 'clock'>, caller: Caller, code: string): Promise<LoginRow> {
  // Codes are short, so limit the wrong ones per person.
  const attempt = { 'cli-code': caller.person?.id ?? null };
  await countAttempt({ db }, attempt);
  const row = await db.prisma.cliLogin.findFirst({
    select: SHOWN,
    where: {
      code: foldCliCode(code),
      expiresAt: { gt: new Date(clock.now()) },
      OR: [{ decision: null }, ...(caller.person === null ? [] : [{ decidedBy: caller.person.id }])],
    },
  });
  if (!row) throw notFound('sign-in: it has expired or is decided, start it again in the terminal');
  await undoAttempt({ db }, attempt);
  return { ...row, decision: row.decision as LoginRow['decision'] };
}

/** The nonce of the page's form, bound to this person's session and this code. */
export function cliFormNonce({ keys }: Pick<Deps, 'keys'>, caller: Caller, code: string): string {
  return deriveToken(keys.signing, 'cli-authorize', nonceFields(caller, code));
}

export function checkCliFormNonce(
  { keys }: Pick<Deps, 'keys'>,
  caller: Caller,
  form: { code: string; nonce: string },
): void {
  if (checkToken(keys.signing, 'cli-authorize', nonceFields(caller, form.code), form.nonce)) return;
  throw new Refusal('forbidden', 'this form is of another sign-in: open the page again', { code: 'bad-nonce' });
}

function nonceFields({ session, person }: Caller, code: string): string[] {
  return [session ?? '', person?.id ?? '', foldCliCode(code)];
}

interface PolledRow extends Pick<TableRow<'CliLogin'>, 'hostname' | 'decidedBy'> {
  readonly decision: 'approved' | 'denied' | null;
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

/** Format: `BCDF-GHJK`. */
function newCliCode(): string {
  return `${randomCodeOf(4, LETTERS)}-${randomCodeOf(4, LETTERS)}`;
}

/** Normalizes a typed code: any case, with or without the hyphen. */
function foldCliCode(text: string): string {
  return text
    .toUpperCase()
    .replace(/[^A-Z]/g, '')
    .replace(/^(.{4})(?=.)/, '$1-');
}
