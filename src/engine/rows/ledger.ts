import type { Sql } from '../../platform/db/contract.js';

/** Who reserves: a run or an eval run, and its lane. A lane has at most one call in flight. */
export interface HoldPlace {
  readonly runId: string;
  readonly lane: string;
}

export interface Reservation {
  /** The budget's row in `spent`. */
  readonly key: string;
  readonly cap: bigint;
  readonly nano: bigint;
}

/**
 * Reserves the cost of a call in one budget; false when it has no room. For calls without a lane's journal; journal
 * writes do the same in one statement (`hold_caps`). Lock budgets in the order of their keys.
 */
export async function reserveIn(
  sql: Sql,
  { runId, lane }: HoldPlace,
  { key, cap, nano }: Reservation,
): Promise<boolean> {
  const rows = await sql.query(
    'UPDATE spent SET held = held + $2 WHERE key = $1 AND nano + held + $2 <= $3 RETURNING 1',
    [key, nano, cap],
  );
  if (rows.length === 0) return false;
  await sql.query('INSERT INTO hold (key, run_id, lane, nano) VALUES ($1, $2, $3, $4)', [key, runId, lane, nano]);
  return true;
}

/** Replaces all reservations of a lane by what its call cost. */
export async function settleHolds(sql: Sql, { runId, lane }: HoldPlace, costNano: bigint): Promise<void> {
  const holds = await sql.query<{ key: string; nano: bigint }>(
    'SELECT key, nano FROM hold WHERE run_id = $1 AND lane = $2 ORDER BY key COLLATE "C"',
    [runId, lane],
  );
  for (const { key, nano } of holds)
    await sql.query('UPDATE spent SET held = held - $2, nano = nano + $3 WHERE key = $1', [key, nano, costNano]);
  await sql.query('DELETE FROM hold WHERE run_id = $1 AND lane = $2', [runId, lane]);
}

export interface UsageEntry {
  readonly tenantId: string;
  readonly workspaceId: string;
  readonly runId: string;
  readonly step: string;
  readonly meter: string;
  readonly model: string | null;
  readonly tokens: { readonly input: number; readonly output: number; readonly cached: number };
  /** Null when the cost is unknown. */
  readonly nano: bigint | null;
  readonly source: string;
  readonly estimated: boolean;
}

/** Writes one entry of the usage, from which months and bills are computed. */
export async function bookUsage(sql: Sql, entry: UsageEntry): Promise<void> {
  const { tenantId, workspaceId, runId, step, meter, model, tokens, nano, source, estimated } = entry;
  await sql.query(
    `INSERT INTO usage (tenant_id, workspace_id, run_id, step, meter, model, tokens_in, tokens_out, tokens_cached, nano, source, estimated)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [
      tenantId,
      workspaceId,
      runId,
      step,
      meter,
      model,
      tokens.input,
      tokens.output,
      tokens.cached,
      nano,
      source,
      estimated,
    ],
  );
}
