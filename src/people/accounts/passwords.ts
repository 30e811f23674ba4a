import { availableParallelism } from 'node:os';
import type { Deps } from '../../deps.js';
import { notFound, overloaded, Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { createSemaphore } from '../../shared/semaphore.js';
import { audit } from './audit.js';
import { countAttempt, undoAttempt } from './limits.js';
import { argon2id, randomCode } from './primitives.js';
import { endOthers } from './sessions.js';

/**
 * Concurrent hashes: at most four, and never all cores, to keep one core for the event loop and a pool thread for files
 * and name lookups.
 */
const WIDTH = Math.max(1, Math.min(4, availableParallelism() - 1));

/** Calls beyond this queue length are refused. */
const LINE = 16 * WIDTH;

/**
 * How long a thread rests after each hash, relative to its work: a flood then uses a third of the time, and other
 * requests of the process stay responsive on a busy machine.
 */
const REST = 2;

const hashing = createSemaphore({
  permits: WIDTH,
  rest: REST,
  queue: {
    most: LINE,
    full: () => overloaded('too many people sign in at this moment: try again in a few seconds', 3),
  },
});

/** Refuses immediately when the queue is full. */
export const assertRoomForPassword = (): void => hashing.assertRoom();

export function hashPassword(password: string): Promise<string> {
  return hashing.run(() => argon2id.hash(password));
}

let decoy: Promise<string> | undefined;

/** Whether the password matches the hash. Takes the same time without a hash. */
export async function verifyPassword(hash: string | null, password: string): Promise<boolean> {
  decoy ??= argon2id.hash(randomCode(32));
  const other = await decoy;
  const known = hash?.startsWith('$argon2id$') ? hash : null;
  const right = await hashing.run(() => argon2id.verify(known ?? other, password));
  return right && known !== null;
}

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
