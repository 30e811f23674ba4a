import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import type { Deps } from '../../deps.js';
import type { Db, SqlQuery } from '../../platform/db/contract.js';
import { sleep } from '../../shared/deadline.js';
import { Refusal } from '../../shared/refusal.js';

/** The library's limiter, with access to its private list of keys that this process blocks without a query. */
export class Limiter extends RateLimiterPostgres {
  /** The library has these two, but its types leave them out. */
  declare private readonly getInMemoryBlockMsBeforeExpire: (key: string) => number;
  declare private readonly _inMemoryBlockedKeys: { readonly delete: (key: string) => void };

  /** How long this process refuses the key without asking the database, in ms; 0 when it does not. */
  blockedMs(key: string): number {
    return this.getInMemoryBlockMsBeforeExpire(this.getKey(key));
  }

  /** Undoes one attempt; a caller who is below the limit then is unblocked. */
  async giveBack(key: string): Promise<void> {
    const { remainingPoints } = await this.reward(key, 1);
    if (remainingPoints > 0) this._inMemoryBlockedKeys.delete(this.getKey(key));
  }
}

/** The number of attempts per period in seconds; each kind counts its own subjects. */
const LIMITS = {
  'signup-address': { points: 5, duration: 3_600 },
  'signup-caller': { points: 20, duration: 3_600 },
  'login-pair': { points: 10, duration: 900 },
  'login-caller': { points: 10, duration: 900 },
  /** Password checks by the holder of a session, by signing in again or by changing the password. */
  'password-session': { points: 10, duration: 900 },
  'cli-caller': { points: 30, duration: 900 },
  'cli-code': { points: 20, duration: 900 },
  /** Audit entries of one refusal, and of one caller at one run; surplus ones are not written. */
  'refused-same': { points: 1, duration: 3_600 },
  'refused-decision': { points: 20, duration: 3_600 },
} as const;

type Limit = keyof typeof LIMITS;

/** Failed sign-ins of an account before each further one is delayed, and how long failures count, in seconds. */
const PACE = { free: 10, duration: 900, mostMs: 4_000, longestWaitMs: 30_000 } as const;

/** The subject of each limit; an unknown subject (null) is not counted. */
export type Attempts = Readonly<Partial<Record<Limit, string | null>>>;

type Limiters = Readonly<Record<Limit, Limiter>>;

const made = new WeakMap<Db, Limiters>();

const paces = new WeakMap<Db, Limiter>();

/**
 * Counts a sign-in of an account and waits for its slot. The more sign-ins failed, the further apart the slots are,
 * which bounds the rate of guesses over all callers. Refuses `rate_limited`, without counting, when the wait would be
 * too long. Returns a function that undoes the count after a successful sign-in.
 */
export async function slowDown(
  { db }: Pick<Deps, 'db'>,
  subject: string,
  wait: (ms: number) => Promise<unknown> = sleep,
): Promise<() => Promise<void>> {
  const limiter = paceOf(db);
  const key = hash(subject);
  const { consumedPoints } = await limiter.consume(key);
  const delayMs = slowDownMs(consumedPoints - 1);
  if (delayMs > 0) {
    const slot = await reserveSlot(db, `login-slot:${key}`, delayMs);
    if ('retryMs' in slot) {
      await limiter.giveBack(key);
      throw tooMany(slot.retryMs);
    }
    await wait(slot.waitMs);
  }
  return () => limiter.giveBack(key);
}

type Slot = { readonly waitMs: number } | { readonly retryMs: number };

const NOW_MS = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/**
 * Reserves the account's next slot in one statement, so that concurrent sign-ins get different ones. A slot is a row of
 * the counts whose `expire` is its time; after that the sweep may delete it.
 */
async function reserveSlot(db: Db, key: string, delayMs: number): Promise<Slot> {
  const [reserved] = await db.query<{ ms: number }>({
    name: 'reserve-login-slot',
    text: `INSERT INTO rate_limit AS r (key, points, expire) VALUES ($1, 0, ${NOW_MS} + $2::bigint)
      ON CONFLICT (key) DO UPDATE SET expire = greatest(r.expire + $2::bigint, excluded.expire)
        WHERE r.expire + $2::bigint <= ${NOW_MS} + $3::bigint
      RETURNING (expire - ${NOW_MS})::int AS ms`,
    values: [key, delayMs, PACE.longestWaitMs],
  });
  if (reserved) return { waitMs: Math.max(0, reserved.ms) };
  const [taken] = await db.query<{ ms: number }>({
    name: 'taken-login-slot',
    text: `SELECT (expire - ${NOW_MS})::int AS ms FROM rate_limit WHERE key = $1`,
    values: [key],
  });
  return { retryMs: Math.max(0, (taken?.ms ?? 0) + delayMs - PACE.longestWaitMs) };
}

/** 250 ms after ten failures, doubled for each further one, at most four seconds. */
export function slowDownMs(failures: number): number {
  const over = failures - PACE.free;
  return over < 0 ? 0 : Math.min(PACE.mostMs, 250 * 2 ** Math.min(over, 10));
}

/**
 * Counts one attempt in each of the given limits, in order; refuses `rate_limited` with `retryAfter` (seconds) once a
 * limit is reached. The counts are in Postgres, so all processes share them. A caller over the limit is refused from
 * this process's memory before anything is counted, so a flood costs no queries and uses up no other caller's attempts.
 * `assertRoom` may throw before the count when there is no capacity for the work.
 */
export async function countAttempt(
  { db }: Pick<Deps, 'db'>,
  attempts: Attempts,
  assertRoom: () => void = () => undefined,
): Promise<void> {
  const counted = countersOf(db, attempts);
  for (const { limiter, key } of counted) {
    const ms = limiter.blockedMs(key);
    if (ms > 0) throw tooMany(ms);
  }
  assertRoom();
  for (const { limiter, key } of counted) {
    await limiter.consume(key).catch((error: unknown) => {
      throw error instanceof RateLimiterRes ? tooMany(error.msBeforeNext) : error;
    });
  }
}

/**
 * Undoes what `countAttempt` counted, once the attempt turned out to be honest. Counting first ensures that concurrent
 * guesses cannot exceed the limit.
 */
export async function undoAttempt({ db }: Pick<Deps, 'db'>, attempts: Attempts): Promise<void> {
  await Promise.all(countersOf(db, attempts).map(({ limiter, key }) => limiter.giveBack(key)));
}

function countersOf(db: Db, attempts: Attempts): readonly { readonly limiter: Limiter; readonly key: string }[] {
  const limiters = limitersOf(db);
  return (Object.entries(attempts) as [Limit, string | null][]).flatMap(([limit, subject]) =>
    subject === null ? [] : [{ limiter: limiters[limit], key: hash(subject) }],
  );
}

/** The caller as limits count it: an IPv4 address, or the /64 of an IPv6 address, which belongs to one customer. */
export function callerOf(address: string | null): string | null {
  const plain = address?.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '') ?? null;
  if (plain === null || !isIPv6(plain)) return plain;
  const [head = '', tail] = new URL(`http://[${plain}]`).hostname.slice(1, -1).split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail ? tail.split(':') : [];
  const groups = tail === undefined ? left : [...left, ...Array(8 - left.length - right.length).fill('0'), ...right];
  return `${groups.slice(0, 4).join(':')}::/64`;
}

function limitersOf(db: Db): Limiters {
  const known = made.get(db);
  if (known) return known;
  const entries = Object.entries(LIMITS).map(([keyPrefix, { points, duration }]) => [
    keyPrefix,
    new Limiter({ ...storedIn(db), keyPrefix, points, duration, inMemoryBlockOnConsumed: points }),
  ]);
  const limiters = Object.fromEntries(entries) as Limiters;
  made.set(db, limiters);
  return limiters;
}

/** Counts without a limit. */
function paceOf(db: Db): Limiter {
  const known = paces.get(db);
  if (known) return known;
  const { duration } = PACE;
  const limiter = new Limiter({ ...storedIn(db), keyPrefix: 'login-pace', points: 1_000_000, duration });
  paces.set(db, limiter);
  return limiter;
}

function storedIn(db: Db): Omit<ConstructorParameters<typeof RateLimiterPostgres>[0], 'points' | 'duration'> {
  return {
    storeClient: { query: (query: SqlQuery) => asDriver(db, query) },
    storeType: 'client',
    tableName: 'rate_limit',
    tableCreated: true,
    clearExpiredByTimeout: false,
  };
}

/** The library computes with `expire` as a number, while our driver returns a bigint. */
async function asDriver(db: Db, query: SqlQuery): Promise<{ rows: object[]; rowCount: number }> {
  const rows = await db.query<{ points: number; expire: bigint | null }>(query);
  return { rows: rows.map((row) => ({ ...row, expire: Number(row.expire) })), rowCount: rows.length };
}

/** Hashes the subject, so that the table holds no addresses. */
function hash(subject: string): string {
  return createHash('sha256').update(subject).digest('base64url');
}

function tooMany(ms: number): Refusal {
  const retryAfter = Math.max(1, Math.ceil(ms / 1_000));
  const wait = retryAfter > 90 ? `${Math.ceil(retryAfter / 60)} minutes` : `${retryAfter} seconds`;
  return new Refusal('rate_limited', `too many attempts: try again in ${wait}`, { code: 'rate-limited', retryAfter });
}
