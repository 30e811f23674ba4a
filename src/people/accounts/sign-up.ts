import type { Deps } from '../../deps.js';
import type { Sql } from '../../platform/db/contract.js';
import { foldName, newId } from '../../shared/ids.js';
import { Refusal } from '../../shared/refusal.js';
import { audit } from './audit.js';
import { createAccount, type NewAccount } from './create-account.js';
import { acceptInvite, isOpenInvite } from './invites.js';
import { callerOf, countAttempt } from './limits.js';
import { assertRoomForPassword, hashPassword } from './passwords.js';

export interface SignUpInput {
  readonly email: string;
  readonly password: string;
  /** The name of the account to make. */
  readonly account: string | null;
  /** The token of an invite into an existing account. */
  readonly invite: string | null;
  readonly address: string | null;
}

/**
 * Creates an account with its owner, or joins the account of an invite. The answer, its timing and the counts of
 * attempts do not reveal whether the address is taken. If it is, no account is created, the existing account's audit
 * records the attempt, and the requested name is reserved, so that the next sign-up with that name reveals nothing
 * either.
 */
export async function signUp(deps: Deps, input: SignUpInput): Promise<void> {
  const { invite, email } = input;
  await countAttempt(deps, { 'signup-caller': callerOf(input.address) }, assertRoomForPassword);
  // Attempts on the address by strangers must not keep the invited person from joining.
  if (invite === null || !(await isOpenInvite(deps, { token: invite, email })))
    await countAttempt(deps, { 'signup-address': email });
  const { signup } = deps.config;
  if (signup === 'closed') throw new Refusal('forbidden', CLOSED, { code: 'signup-closed' });
  if (invite !== null) return joinAccount(deps, { ...input, invite });
  if (signup === 'invite') throw new Refusal('forbidden', NEEDS_INVITE, { code: 'signup-invite' });
  await openAccount(deps, { ...input, account: checkAccount(input.account) });
}

const CLOSED = 'sign-up is closed here: ask the people who run this service for access';
const NEEDS_INVITE = 'signing up here takes an invite: ask an admin of the account for one';

/** The holder of an invite may learn that the address already has an account. */
async function joinAccount(
  deps: Deps,
  { email, password, invite, address }: SignUpInput & { readonly invite: string },
): Promise<void> {
  const passwordHash = await hashPassword(password);
  await deps.db.transaction(async (sql) => {
    const { tenantId: tenant, role, allWorkspaces, workspaces } = await acceptInvite(sql, { token: invite, email });
    const id = newId();
    const members = await sql.query(
      `INSERT INTO member (id, tenant_id, email, role, password_hash, all_workspaces, workspaces)
       VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING 1`,
      [id, tenant, email, role, passwordHash, allWorkspaces, workspaces],
    );
    if (members.length === 0)
      throw new Refusal('conflict', 'this address has an account already, and belongs to one only: sign in', {
        code: 'address-taken',
      });
    const actor = { kind: 'person', id, label: email } as const;
    await audit(sql, { tenant, actor, address }, 'member.join', id, { role });
  });
}

function checkAccount(account: string | null): string {
  if (account === null) throw new Refusal('refused', 'account: name the account to make, or give an invite into one');
  if (foldName(account) !== '') return account;
  throw new Refusal('refused', 'account: the name must hold a letter from a to z or a digit');
}

type Opening = SignUpInput & { readonly account: string };

async function openAccount(deps: Deps, { account, ...input }: Opening): Promise<void> {
  const passwordHash = await hashPassword(input.password);
  const wish = { name: account, owner: { email: input.email, passwordHash }, by: null, address: input.address };
  const open = () => deps.db.transaction((sql) => openUnlessTaken(sql, wish));
  // An invite accepted at the same time may take the address: the second attempt finds that.
  const outcome = await open().catch((error: unknown) => {
    if (error instanceof AddressTaken) return open();
    throw error;
  });
  if (outcome === 'opened') return;
  throw new Refusal('conflict', `an account "${foldName(account)}" is there already: choose another name`, {
    code: 'account-taken',
  });
}

/**
 * Creates the account unless its name is taken. If the address already has an account, reserves the name instead, so
 * that the name looks the same to a stranger.
 */
async function openUnlessTaken(sql: Sql, wish: NewAccount): Promise<'opened' | 'name-taken'> {
  const { email } = wish.owner;
  const name = foldName(wish.name);
  for (const lock of [`account ${name}`, `address ${email}`])
    await sql.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [lock]);
  const taken = await sql.query(
    'SELECT 1 FROM tenant WHERE id = $1 UNION ALL SELECT 1 FROM reserved_account WHERE id = $1',
    [name],
  );
  if (taken.length > 0) return 'name-taken';
  const [member] = await sql.query<MemberOf>('SELECT id, tenant_id AS tenant FROM member WHERE email = $1', [email]);
  if (member) {
    await sql.query('INSERT INTO reserved_account (id) VALUES ($1)', [name]);
    await auditAttempt(sql, member, wish.address);
    return 'opened';
  }
  const made = await createAccount(sql, wish);
  if (made === 'account-taken') return 'name-taken';
  if (made === 'address-taken') throw new AddressTaken();
  return 'opened';
}

/** Thrown to roll the transaction back. */
class AddressTaken extends Error {}

interface MemberOf {
  readonly id: string;
  readonly tenant: string;
}

/** Audits the attempt in the account that has the address. */
async function auditAttempt(sql: Sql, { id, tenant }: MemberOf, address: string | null): Promise<void> {
  const actor = { kind: 'system', id: 'signup', label: 'sign-up' } as const;
  await audit(sql, { tenant, actor, address }, 'account.signup-taken', id);
}
