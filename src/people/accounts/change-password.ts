import type { Deps } from '../../deps.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { audit } from './audit.js';
import { endOthers } from './end-sessions.js';
import { countAttempt, undoAttempt } from './limits.js';
import { hashPassword, verifyPassword } from './passwords.js';

/**
 * Sets the caller's password and ends their other sessions; returns how many. Attempts are limited per session, so that
 * failed sign-ins of strangers cannot block a change of the password.
 */
export async function changePassword(
  deps: Pick<Deps, 'db'>,
  caller: Caller,
  { current, next }: { readonly current: string; readonly next: string },
): Promise<number> {
  const { person } = caller;
  if (!person) throw notFound('person');
  const attempt = { 'password-session': caller.session ?? person.id };
  await countAttempt(deps, attempt);
  const { hash, right } = await testPassword(deps, person.id, current).catch(async (error: unknown) => {
    // No password was checked (overload, or the database did not answer), so the attempt does not count.
    await undoAttempt(deps, attempt);
    throw error;
  });
  if (!right) throw new Refusal('forbidden', 'current: this is not your password', { code: 'bad-credentials' });
  await undoAttempt(deps, attempt);
  if (next === current) throw new Refusal('refused', 'next: this is your password already, choose another');
  const passwordHash = await hashPassword(next);
  return deps.db.transaction(async (sql) => {
    const changed = await sql.query(
      'UPDATE member SET password_hash = $2 WHERE id = $1 AND password_hash = $3 RETURNING 1',
      [person.id, passwordHash, hash],
    );
    if (changed.length === 0)
      throw new Refusal('conflict', 'the password was changed a moment ago: sign in with the new one');
    await audit(sql, caller, 'password.change', person.id);
    return endOthers(sql, caller);
  });
}

async function testPassword(
  deps: Pick<Deps, 'db'>,
  id: string,
  password: string,
): Promise<{ readonly hash: string | null; readonly right: boolean }> {
  const [member] = await deps.db.query<{ hash: string }>('SELECT password_hash AS hash FROM member WHERE id = $1', [
    id,
  ]);
  const hash = member?.hash ?? null;
  return { hash, right: await verifyPassword(hash, password) };
}
