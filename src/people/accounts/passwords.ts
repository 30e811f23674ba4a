import { availableParallelism } from 'node:os';
import { overloaded } from '../../shared/refusal.js';
import { createSemaphore } from '../../shared/semaphore.js';
import { argon2id, randomCode } from './primitives.js';

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
