import type { Gate } from '../../contract/runs.js';
import { callDigest } from '../../engine/index.js';
import type { Sql } from '../../platform/db/contract.js';
import type { JsonObject } from '../../shared/json.js';
import type { GateRow } from '../gate-rows.js';

/** The longest call that a page shows, in characters. No model writes more in one answer. */
const MOST_CHARACTERS = 1_000_000;
/** How many calls of the step are searched, newest first. */
const MOST_CALLS = 500;

/**
 * Completes a gate's calls, of which the gate stores only the beginning: the decider by link has no other place to read
 * them. A call that is not found stays truncated.
 */
export async function wholeCalls(
  sql: Sql,
  { runId, step }: Pick<GateRow, 'runId' | 'step'>,
  calls: NonNullable<Gate['calls']>,
): Promise<NonNullable<Gate['calls']>> {
  const cut = calls.filter(({ characters }) => characters !== undefined);
  if (cut.length === 0) return calls;
  const said = await sql.query<{ name: string; args: JsonObject | null }>({
    name: 'whole-calls',
    text: `SELECT c.call->>'name' AS name, c.call->'args' AS args
      FROM message m, jsonb_array_elements(CASE WHEN jsonb_typeof(m.content->'calls') = 'array' THEN m.content->'calls' ELSE '[]' END) AS c (call)
      WHERE m.run_id = $1 AND m.step = $2 AND c.call->>'name' = ANY($3) AND octet_length((c.call->'args')::text) <= $4
      ORDER BY m.round DESC, m.attempt DESC, m.seq DESC LIMIT $5`,
    values: [runId, step, cut.map(({ name }) => name), 4 * MOST_CHARACTERS, MOST_CALLS],
  });
  const byDigest = new Map(said.map((call) => [callDigest(call), call.args]));
  return calls.map((call) => {
    const args = call.characters === undefined ? undefined : byDigest.get(call.digest);
    if (!args || (call.characters ?? 0) > MOST_CHARACTERS) return call;
    const { characters: _, ...rest } = call;
    return { ...rest, args };
  });
}
