import { availableParallelism } from 'node:os';
import { createGate } from '../shared/gate.js';
import { Refusal } from '../shared/refusal.js';
import { argon2id, randomCode } from './primitives.js';

/** At most four, and never all cores: the event loop keeps one, and the thread pool a thread for files and names. */
const WIDTH = Math.max(1, Math.min(4, availableParallelism() - 1));

/** Half a second's work, and more on a busy machine: who is further back in line had better come again. */
const LINE = 16 * WIDTH;

const inTurn = createGate(
  WIDTH,
  LINE,
  () =>
    new Refusal('unavailable', 'too many people sign in at this moment: try again in a few seconds', { retryAfter: 3 }),
);

export function hashPassword(password: string): Promise<string> {
  return inTurn(() => argon2id.hash(password));
}

let decoy: Promise<string> | undefined;

/** Whether it is the password of the hash. Takes as long when there is no hash, or one that no password has. */
export async function verifyPassword(hash: string | null, password: string): Promise<boolean> {
  decoy ??= argon2id.hash(randomCode(32));
  const other = await decoy;
  const known = hash?.startsWith('$argon2id$') ? hash : null;
  const right = await inTurn(() => argon2id.verify(known ?? other, password));
  return right && known !== null;
}
