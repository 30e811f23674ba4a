import type { Sql } from '../db/contract.js';
import type { Deps } from '../deps.js';
import { foldName, newId } from '../shared/ids.js';
import { Refusal } from '../shared/refusal.js';
import { audit } from './audit.js';
import { createAccount } from './create-account.js';
import { acceptInvite } from './invites.js';
import { callerOf, countAttempt } from './limits.js';
import { hashPassword } from './passwords.js';

export interface SignUpInput {
  readonly email: string;
  readonly password: string;
  /** The name of the account to make. */
  readonly account: string | null;
  /** The token of an invite into an account that is there. */
  readonly invite: string | null;
  readonly address: string | null;
}

/**
 * Makes an account with its owner, or a member of the account that an invite is into. Nothing of the answer, of its time
 * or of the counts of attempts tells a stranger whether the address was taken, in which case nothing is made; the account
 * that has it finds the attempt in its audit.
 */
export async function signUp(deps: Deps, input: SignUpInput): Promise<void> {
  await countAttempt(deps, { 'signup-caller': callerOf(input.address), 'signup-address': input.email });
  const { signup } = deps.config;
  const { invite } = input;
  if (signup === 'closed') throw new Refusal('forbidden', CLOSED, { code: 'signup-closed' });
  if (invite !== null) return joinAccount(deps, { ...input, invite });
  if (signup === 'invite') throw new Refusal('forbidden', NEEDS_INVITE, { code: 'signup-invite' });
  await openAccount(deps, { ...input, account: checkAccount(input.account) });
}

const CLOSED = 'nobody can sign up here: ask the people who run this service for access';
const NEEDS_INVITE = 'signing up here takes an invite: ask an admin of the account for one';

/** The invite's holder is no stranger: that the address has an account already is said. */
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

async function openAccount(
  deps: Deps,
  { email, password, account, address }: SignUpInput & { readonly account: string },
): Promise<void> {
  const passwordHash = await hashPassword(password);
  const outcome = await deps.db
    .transaction(async (sql) => {
      const made = await createAccount(sql, { name: account, owner: { email, passwordHash }, by: null, address });
      if (typeof made === 'string') throw new Taken(made);
      return 'made' as const;
    })
    .catch((error: unknown) => {
      if (error instanceof Taken) return error.what;
      throw error;
    });
  if (outcome === 'account-taken')
    throw new Refusal('conflict', `an account "${foldName(account)}" is there already: choose another name`, {
      code: 'account-taken',
    });
  if (outcome === 'address-taken') await deps.db.transaction((sql) => tellOwner(sql, email, address));
}

/** Rolls the transaction back. */
class Taken extends Error {
  constructor(readonly what: 'account-taken' | 'address-taken') {
    super(what);
  }
}

async function tellOwner(sql: Sql, email: string, address: string | null): Promise<void> {
  const [member] = await sql.query<{ id: string; tenant: string }>(
    'SELECT id, tenant_id AS tenant FROM member WHERE email = $1',
    [email],
  );
  if (!member) return;
  const actor = { kind: 'system', id: 'signup', label: 'sign-up' } as const;
  await audit(sql, { tenant: member.tenant, actor, address }, 'account.signup-taken', member.id);
}
