import type { Deps } from '../../deps.js';
import type { Sql } from '../../platform/db/contract.js';
import { newId } from '../../shared/ids.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { hashKey } from './api-keys.js';
import { audit } from './audit.js';
import { type Attempts, callerOf, countAttempt, slowDown, undoAttempt } from './limits.js';
import { assertRoomForPassword, verifyPassword } from './passwords.js';
import { randomCode } from './primitives.js';
import { authenticateSession } from './sessions.js';

/** The client of a session, and the token of the session that a new one replaces. */
export interface Browser {
  readonly address: string | null;
  readonly device: string | null;
  readonly replaces: string | null;
}

export interface LoggedIn {
  readonly caller: Caller;
  /** The cookie's value. Shown once: only its hash is kept. */
  readonly token: string;
}

/** Sessions per person; a further one ends the least recently used. */
const MOST = 50;

/**
 * Signs a person in. For an unknown address and for a wrong password the answer, its timing and the counts of attempts
 * are the same.
 */
export async function logIn(
  deps: Deps,
  { email, password }: { readonly email: string; readonly password: string },
  browser: Browser,
): Promise<LoggedIn> {
  const giveBack = await countLogin(deps, email, browser);
  const { member, right } = await testPassword(deps, email, password).catch(async (error: unknown) => {
    // No password was checked (overload, or the database did not answer), so the attempt does not count.
    await giveBack();
    throw error;
  });
  if (!member || !right) throw badCredentials();
  await giveBack();
  const token = await deps.db.transaction((sql) => startSession(sql, { ...member, email }, browser));
  const session = await authenticateSession(deps, token, browser.address);
  if (!session) throw badCredentials();
  return { caller: session.caller, token };
}

interface LoginMember {
  readonly id: string;
  readonly tenant: string;
  readonly passwordHash: string;
}

async function testPassword(
  deps: Deps,
  email: string,
  password: string,
): Promise<{ readonly member: LoginMember | undefined; readonly right: boolean }> {
  const [member] = await deps.db.query<LoginMember>({
    name: 'log-in',
    text: 'SELECT id, tenant_id AS tenant, password_hash AS "passwordHash" FROM member WHERE email = $1',
    values: [email],
  });
  return { member, right: await verifyPassword(member?.passwordHash ?? null, password) };
}

/**
 * Counts the attempt and waits if required. A known device has its own count, shared with changes of the password, and
 * never waits, so that guesses by strangers do not affect it. Returns a function that undoes the count.
 */
async function countLogin(deps: Deps, email: string, browser: Browser): Promise<() => Promise<unknown>> {
  const device = await knownDevice(deps, email, browser.replaces);
  const attempt = device === null ? attemptsOf(deps, email, browser) : { 'password-session': device };
  await countAttempt(deps, attempt, assertRoomForPassword);
  const giveBack = () => undoAttempt(deps, attempt);
  if (device !== null) return giveBack;
  try {
    const forget = await slowDown(deps, email);
    return () => Promise.all([giveBack(), forget()]);
  } catch (error) {
    // No password was checked, so a retry after that time must not be locked out.
    await giveBack();
    throw error;
  }
}

/**
 * The limits for a caller who may be a stranger: their address over all accounts, and their address with this account,
 * so that their failures lock out no other caller. Without a trusted proxy all clients of one proxy count as one
 * caller.
 */
function attemptsOf({ config }: Pick<Deps, 'config'>, email: string, { address }: Browser): Attempts {
  const caller = callerOf(address);
  return { 'login-caller': config.trustProxy ? caller : null, 'login-pair': `${caller ?? ''} ${email}` };
}

/** The id of this person's live session whose cookie the request carries; strangers never lock out such a browser. */
async function knownDevice({ db }: Pick<Deps, 'db'>, email: string, token: string | null): Promise<string | null> {
  if (token === null) return null;
  const [session] = await db.query<{ id: string }>({
    name: 'known-device',
    text: `SELECT s.id FROM session s JOIN member m ON m.id = s.member_id
      WHERE s.token_hash = $1 AND s.expires_at > now() AND m.email = $2`,
    values: [hashKey(token), email],
  });
  return session?.id ?? null;
}

function badCredentials(): Refusal {
  return new Refusal('unauthenticated', 'the address or the password is wrong', { code: 'bad-credentials' });
}

/** Returns the new session's token. */
export async function startSession(
  sql: Sql,
  member: { readonly id: string; readonly tenant: string; readonly email: string },
  { address, device, replaces }: Browser,
): Promise<string> {
  const token = randomCode(43);
  if (replaces !== null) await sql.query('DELETE FROM session WHERE token_hash = $1', [hashKey(replaces)]);
  await sql.query(
    `DELETE FROM session WHERE id IN (
       SELECT id FROM session WHERE member_id = $1 ORDER BY last_used_at DESC, id DESC OFFSET $2)`,
    [member.id, MOST - 1],
  );
  await sql.query(
    `INSERT INTO session (id, member_id, token_hash, device, address, expires_at)
     VALUES ($1, $2, $3, $4, $5, now() + interval '30 days')`,
    [newId(), member.id, hashKey(token), device, address],
  );
  await sql.query('UPDATE member SET last_seen_at = now() WHERE id = $1', [member.id]);
  const actor = { kind: 'person', id: member.id, label: member.email } as const;
  await audit(sql, { tenant: member.tenant, actor, address }, 'session.start', member.id);
  return token;
}
