import type { CliLoginRequest } from '../../../contract/auth.js';
import type { Deps } from '../../../deps.js';
import type { CliLogin } from '../../../platform/db/contract.js';
import { notFound, Refusal } from '../../../shared/refusal.js';
import type { Caller } from '../../../shared/roles.js';
import { checkToken, deriveToken } from '../../../shared/tokens.js';
import { audit } from '../audit.js';
import { countAttempt, undoAttempt } from '../limits.js';
import { foldCliCode } from './codes.js';

const SHOWN = { code: true, hostname: true, address: true, createdAt: true, expiresAt: true, decision: true } as const;

interface LoginRow extends Pick<CliLogin, Exclude<keyof typeof SHOWN, 'decision'>> {
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
