import { createHash } from 'node:crypto';
import type { Sql } from '../platform/db/contract.js';
import { toJson } from '../shared/exact-json.js';
import type { Delivered } from './deliver.js';

export interface DeliveryKey {
  readonly workspaceId: string;
  readonly flow: string;
  readonly key: string;
}

/** Longer ids are hashed, since senders choose them and an index entry is limited. */
const MAX_KEY = 200;

export function keyOf(kind: string, id: string): string {
  const text = `${kind}/${id}`;
  return text.length > MAX_KEY ? `${kind}#${createHash('sha256').update(text).digest('hex')}` : text;
}

/**
 * Claims the delivery's key for a day, in the transaction of its effect, and returns null; or returns the answer of the
 * first delivery with this key. Concurrent deliveries wait here until the first one commits or rolls back.
 */
export async function claimDelivery(sql: Sql, at: DeliveryKey, answer: Delivered): Promise<Delivered | null> {
  const claimed = await sql.query({
    name: 'claim-delivery',
    text: `INSERT INTO delivery_key AS k (workspace_id, flow, key, answer) VALUES ($1, $2, $3, $4)
      ON CONFLICT (workspace_id, flow, key) DO UPDATE SET answer = excluded.answer, at = now()
        WHERE k.at < now() - interval '24 hours' RETURNING 1`,
    values: [at.workspaceId, at.flow, at.key, toJson(answer)],
  });
  if (claimed.length > 0) return null;
  const [row] = await sql.query<{ answer: Delivered }>({
    name: 'read-delivery-answer',
    text: 'SELECT answer FROM delivery_key WHERE workspace_id = $1 AND flow = $2 AND key = $3',
    values: [at.workspaceId, at.flow, at.key],
  });
  if (!row) throw new Error(`the delivery key ${at.key} disappeared between two statements`);
  return row.answer;
}

/** Replaces the answer under a key that this transaction has claimed. */
export async function replaceDeliveryAnswer(sql: Sql, at: DeliveryKey, answer: Delivered): Promise<void> {
  await sql.query('UPDATE delivery_key SET answer = $4 WHERE workspace_id = $1 AND flow = $2 AND key = $3', [
    at.workspaceId,
    at.flow,
    at.key,
    toJson(answer),
  ]);
}
