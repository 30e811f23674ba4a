import { z } from 'zod';
import type { Deps } from '../deps.js';
import { Refusal } from '../shared/refusal.js';

const KeptAnswer = z.object({ status: z.number(), headers: z.record(z.string(), z.string()), body: z.string() });
export type KeptAnswer = z.infer<typeof KeptAnswer>;

interface KeyOfCall {
  readonly tenant: string;
  readonly key: string;
}

interface Row {
  readonly bodyHash: string;
  readonly response: unknown;
  readonly ageSeconds: number;
}

/** A request that has not answered by then has died with its process. */
const DEAD_AFTER_SECONDS = 900;

/**
 * Takes the key for this call (null), or gives the answer that the same call got before. Refuses when another call had
 * it, and when the first has not answered: whether that one took effect nobody knows, so it is never done again.
 */
export async function claimIdempotencyKey(
  deps: Deps,
  call: KeyOfCall & { readonly bodyHash: string },
): Promise<KeptAnswer | null> {
  const values = [call.tenant, call.key, call.bodyHash];
  const claimed = await deps.db.query({
    name: 'claim-idempotency-key',
    text: `INSERT INTO idempotency_key (tenant_id, key, body_hash) VALUES ($1, $2, $3)
           ON CONFLICT (tenant_id, key) DO UPDATE
             SET body_hash = excluded.body_hash, status = NULL, response = NULL, created_at = now()
             WHERE idempotency_key.created_at < now() - interval '24 hours'
           RETURNING 1`,
    values,
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
  const text = lost
    ? 'the first request with this Idempotency-Key never answered: look whether it took effect, then use a new key'
    : 'the first request with this Idempotency-Key is still at work: try again in a moment';
  throw new Refusal('conflict', text, { code: lost ? 'idempotency-key-lost' : 'idempotency-key-in-flight' });
}

export async function keepAnswer(
  deps: Deps,
  { tenant, key, answer }: KeyOfCall & { readonly answer: KeptAnswer },
): Promise<void> {
  await deps.db.query({
    name: 'keep-idempotent-answer',
    text: 'UPDATE idempotency_key SET status = $3, response = $4 WHERE tenant_id = $1 AND key = $2',
    values: [tenant, key, answer.status, JSON.stringify(answer)],
  });
}

/** Gives the key back: nothing was done under it. */
export async function releaseIdempotencyKey(deps: Deps, { tenant, key }: KeyOfCall): Promise<void> {
  await deps.db.query({
    name: 'release-idempotency-key',
    text: 'DELETE FROM idempotency_key WHERE tenant_id = $1 AND key = $2 AND response IS NULL',
    values: [tenant, key],
  });
}

/** Removes what is older than the day for which keys are promised. */
export async function sweepIdempotencyKeys(deps: Pick<Deps, 'db'>): Promise<void> {
  await deps.db.query(`DELETE FROM idempotency_key WHERE created_at < now() - interval '24 hours'`);
}
