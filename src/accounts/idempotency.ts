import { z } from 'zod';
import type { Sql } from '../db/contract.js';
import { sweepRows } from '../db/index.js';
import type { Deps } from '../deps.js';
import { toJson } from '../shared/exact-json.js';
import { Refusal } from '../shared/refusal.js';

const KeptAnswer = z.object({ status: z.number(), headers: z.record(z.string(), z.string()), body: z.string() });
export type KeptAnswer = z.infer<typeof KeptAnswer>;

/** A call's claim of its key. Each attempt is a holder of its own: one that was overtaken can write nothing more. */
export interface HeldKey {
  readonly tenant: string;
  readonly key: string;
  readonly holder: string;
}

/** Writes the answer of a call into the transaction of its effect: both stand, or neither. */
export type RecordAnswer = (sql: Sql, body: object) => Promise<void>;

interface Row {
  readonly bodyHash: string;
  readonly response: unknown;
  readonly ageSeconds: number;
}

/** A holder that has not renewed its claim for so long is dead, or as good as dead. */
export const LEASE_SECONDS = 5;

/** A request without a lease that has not answered by then has died with its process. */
const DEAD_AFTER_SECONDS = 900;

export interface Claim extends HeldKey {
  readonly bodyHash: string;
  /**
   * True for a call that writes its answer with its effect: once its holder is silent the same call may take over, since
   * what took effect has its answer. Another call of which nobody knows whether it took effect is never done again.
   */
  readonly leased: boolean;
}

/**
 * Takes the key for this call (null), or gives the answer that the same call got before. Refuses when another call had
 * it, and while the first is at work.
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
    'the first request with this Idempotency-Key never answered: look whether it took effect, then use a new key',
    { code: 'idempotency-key-lost' },
  );
}

function inFlight(): Refusal {
  return new Refusal(
    'conflict',
    'the first request with this Idempotency-Key is still at work: try again in a moment',
    { code: 'idempotency-key-in-flight', retryAfter: 1 },
  );
}

/** Says that the holder lives. */
export async function renewIdempotencyKey(deps: Pick<Deps, 'db'>, { tenant, key, holder }: HeldKey): Promise<void> {
  await deps.db.query({
    name: 'renew-idempotency-key',
    text: `UPDATE idempotency_key SET held_until = now() + $4 * interval '1 second'
           WHERE tenant_id = $1 AND key = $2 AND holder = $3 AND response IS NULL`,
    values: [tenant, key, holder, LEASE_SECONDS],
  });
}

/** Keeps the answer, in the transaction of what it tells of. Refuses, and so undoes that, once another has the key. */
export async function settleAnswer(sql: Sql, held: HeldKey, answer: KeptAnswer): Promise<void> {
  if (!(await writeAnswer(sql, held, answer))) throw inFlight();
}

/** Keeps the answer, unless another has the key by now. */
export async function keepAnswer(deps: Deps, held: HeldKey, answer: KeptAnswer): Promise<void> {
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

/** Gives the key back: nothing was done under it. */
export async function releaseIdempotencyKey(deps: Deps, { tenant, key, holder }: HeldKey): Promise<void> {
  await deps.db.query({
    name: 'release-idempotency-key',
    text: 'DELETE FROM idempotency_key WHERE tenant_id = $1 AND key = $2 AND holder = $3 AND response IS NULL',
    values: [tenant, key, holder],
  });
}

/** Removes what is older than the day for which keys are promised. */
export async function sweepIdempotencyKeys(deps: Pick<Deps, 'db'>): Promise<void> {
  await sweepRows(deps.db, 'idempotency_key', `created_at < now() - interval '24 hours'`);
}
