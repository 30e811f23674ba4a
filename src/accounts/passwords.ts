import { availableParallelism } from 'node:os';
import { createGate } from '../shared/gate.js';
import { overloaded } from '../shared/refusal.js';
import { argon2id, randomCode } from './primitives.js';

/** At most four, and never all cores: the event loop keeps one, and the thread pool a thread for files and names. */
const WIDTH = Math.max(1, Math.min(4, availableParallelism() - 1));

/** Who is further back in line had better come again. */
const LINE = 16 * WIDTH;

/**
 * A flood keeps a thread at work a third of the time: on a machine whose time is short the threads of a process share
 * it, and the one that answers everybody else must not go without.
 */
const REST = 2;

const gate = createGate({
  width: WIDTH,
  line: LINE,
  rest: REST,
  full: () => overloaded('too many people sign in at this moment: try again in a few seconds', 3),
});

/** Refuses now what would be refused after work was spent on it. */
export const assertRoomForPassword = (): void => gate.assertRoom();

export function hashPassword(password: string): Promise<string> {
  return gate.run(() => argon2id.hash(password));
}

let decoy: Promise<string> | undefined;

/** Whether it is the password of the hash. Takes as long when there is no hash, or one that no password has. */
export async function verifyPassword(hash: string | null, password: string): Promise<boolean> {
  decoy ??= argon2id.hash(randomCode(32));
  const other = await decoy;
  const known = hash?.startsWith('$argon2id$') ? hash : null;
  const right = await gate.run(() => argon2id.verify(known ?? other, password));
  return right && known !== null;
}
