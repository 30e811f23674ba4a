import { z } from 'zod';
import type { Deps } from '../../deps.js';
import type { Sql, TableRow } from '../../platform/db/contract.js';
import { OutcomeUnknown, sweepRows } from '../../platform/db/index.js';
import { toJson } from '../../shared/exact-json.js';
import { Refusal } from '../../shared/refusal.js';

const KeptAnswer = z.object({ status: z.number(), headers: z.record(z.string(), z.string()), body: z.string() });
export type KeptAnswer = z.infer<typeof KeptAnswer>;

/**
 * A request's claim of an idempotency key. Each attempt is its own holder: after a takeover the earlier holder cannot
 * write.
 */
export interface HeldKey {
  readonly tenant: string;
  readonly key: string;
  readonly holder: string;
}

/** Writes the answer of a request in the transaction of its effect. */
export type RecordAnswer = (sql: Sql, body: object) => Promise<void>;

interface Row extends Pick<TableRow<'IdempotencyKey'>, 'bodyHash' | 'response'> {
  readonly ageSeconds: number;
}

/** A holder that has not renewed its claim for this long counts as dead. */
export const LEASE_SECONDS = 5;

/** A request without a lease that has not answered by then has died with its process. */
const DEAD_AFTER_SECONDS = 900;

export interface Claim extends HeldKey {
  readonly bodyHash: string;
  /**
   * True when the answer is written with the effect. After the holder falls silent the same request may then take over,
   * since a committed effect has its answer. For other requests the outcome is unknown, so they are never repeated.
   */
  readonly leased: boolean;
}

/**
 * Claims the key for this request (null), or returns the answer that the same request got before. Refuses when a
 * different request used the key, and while the first one is running.
 */
export async function claimIdempotencyKey(deps: Deps, call: Claim): Promise<KeptAnswer | null> {
  const claimed = await deps.db.query({
    name: 'claim-idempotency-key',
    text: `INSERT INTO idempotency_key AS k (tenant_id, key, body_hash, holder, held_until)
             VALUES ($1, $2, $3, $4, now() + $5 * interval '1 second')
           ON CONFLICT (tenant_id, key) DO UPDATE
             SET body_hash = excluded.body_hash, holder = excluded.holder, held_until = excluded.held_until,
               status = NULL, response = NULL, created_at = now()
             WHERE k.created_at < now() - interval '24 hours'
               OR k.response IS NULL AND k.body_hash = excluded.body_hash AND k.held_until < now()
           RETURNING 1`,
    values: [call.tenant, call.key, call.bodyHash, call.holder, call.leased ? LEASE_SECONDS : null],
  });
  if (claimed.length > 0) return null;
  const [row] = await deps.db.query<Row>({
    name: 'read-idempotency-key',
    text: `SELECT body_hash AS "bodyHash", response, extract(epoch FROM now() - created_at)::float8 AS "ageSeconds"
           FROM idempotency_key WHERE tenant_id = $1 AND key = $2`,
    values: [call.tenant, call.key],
  });
  return readAnswer(row, call.bodyHash);
}

function readAnswer(row: Row | undefined, bodyHash: string): KeptAnswer {
  if (row && row.bodyHash !== bodyHash) {
    throw new Refusal('refused', 'this Idempotency-Key came with another request before: use a new key', {
      code: 'idempotency-key-reused',
    });
  }
  if (row?.response) return KeptAnswer.parse(row.response);
  const lost = row !== undefined && row.ageSeconds > DEAD_AFTER_SECONDS;
  if (!lost) throw inFlight();
  throw new Refusal(
    'conflict',
    'the first request with this Idempotency-Key was never answered: check whether it took effect, then use a new key',
    { code: 'idempotency-key-lost' },
  );
}

function inFlight(): Refusal {
  return new Refusal(
    'conflict',
    'the first request with this Idempotency-Key is still in progress: try again in a moment',
    { code: 'idempotency-key-in-flight', retryAfter: 1 },
  );
}

/** Renews the holder's lease. */
export async function renewIdempotencyKey(deps: Pick<Deps, 'db'>, { tenant, key, holder }: HeldKey): Promise<void> {
  await deps.db.query({
    name: 'renew-idempotency-key',
    text: `UPDATE idempotency_key SET held_until = now() + $4 * interval '1 second'
           WHERE tenant_id = $1 AND key = $2 AND holder = $3 AND response IS NULL`,
    values: [tenant, key, holder, LEASE_SECONDS],
  });
}

/**
 * Saves the answer in the transaction of its effect. Refuses, and so rolls back, when another request holds the key by
 * now.
 */
export async function saveAnswerInTransaction(sql: Sql, held: HeldKey, answer: KeptAnswer): Promise<void> {
  if (!(await writeAnswer(sql, held, answer))) throw inFlight();
}

/** Saves the answer, unless another request holds the key by now. */
export async function saveAnswer(deps: Deps, held: HeldKey, answer: KeptAnswer): Promise<void> {
  await writeAnswer(deps.db, held, answer);
}

async function writeAnswer(sql: Sql, { tenant, key, holder }: HeldKey, answer: KeptAnswer): Promise<boolean> {
  const written = await sql.query({
    name: 'keep-idempotent-answer',
    text: `UPDATE idempotency_key SET status = $4, response = $5
           WHERE tenant_id = $1 AND key = $2 AND holder = $3 RETURNING 1`,
    values: [tenant, key, holder, answer.status, toJson(answer)],
  });
  return written.length > 0;
}

/** Releases the key of a request that had no effect. */
export async function releaseIdempotencyKey(deps: Deps, { tenant, key, holder }: HeldKey): Promise<void> {
  await deps.db.query({
    name: 'release-idempotency-key',
    text: 'DELETE FROM idempotency_key WHERE tenant_id = $1 AND key = $2 AND holder = $3 AND response IS NULL',
    values: [tenant, key, holder],
  });
}

/** Deletes keys that are older than the promised 24 hours. */
export async function sweepIdempotencyKeys(deps: Pick<Deps, 'db'>): Promise<void> {
  await sweepRows(deps.db, 'idempotency_key', `created_at < now() - interval '24 hours'`);
}

/** True when the request may have taken effect, so its key must stay claimed. */
export function isOutcomeUnknown(error: Error): boolean {
  return error instanceof OutcomeUnknown;
}
