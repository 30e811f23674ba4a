import type { RunView } from '../contract/runs.js';
import type { Sql } from '../platform/db/contract.js';
import { toUsd } from '../shared/money.js';

export interface UsageRow {
  readonly model: string | null;
  readonly calls: number;
  readonly input: bigint;
  readonly output: bigint;
  readonly cached: bigint;
  readonly nano: bigint | null;
  readonly estimated: boolean;
}

export function readUsage(sql: Sql, runId: string): Promise<UsageRow[]> {
  return sql.query<UsageRow>(
    `SELECT model, count(*)::int AS calls, sum(tokens_in)::bigint AS input, sum(tokens_out)::bigint AS output,
      sum(tokens_cached)::bigint AS cached, sum(nano)::bigint AS nano, bool_or(estimated) AS estimated
      FROM usage WHERE run_id = $1 AND meter IN ('model', 'eval') GROUP BY model ORDER BY model`,
    [runId],
  );
}

export function usageOf(rows: readonly UsageRow[]): RunView['usage'] {
  return rows.map(({ model, calls, input, output, cached, nano, estimated }) => ({
    model: model ?? 'unknown',
    calls,
    tokens: { input: Number(input), output: Number(output), cached: Number(cached) },
    costUsd: nano === null ? null : toUsd(nano),
    estimated,
  }));
}
