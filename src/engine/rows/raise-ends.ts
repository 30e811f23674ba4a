import { chainOf, listens } from '../../content/index.js';
import type { Sql } from '../../platform/db/contract.js';

/**
 * SQL: raises `run.completed` or `run.failed` for the ended runs of `from`, named `r`, that `when` selects. Child runs
 * are part of their parent, runs of evals do not count, and stopped runs did not fail.
 */
export function endEventsSql(from: string, when: string): string {
  return `INSERT INTO raised_event (workspace_id, kind, body, chain)
    SELECT r.workspace_id, 'run.' || r.status, jsonb_build_object('event', 'run.' || r.status, 'runId', r.id,
      'flow', r.flow, 'status', r.status, 'summary', r.summary, 'error', r.error, 'tags', to_jsonb(r.tags)), ${chainOf('r.trigger')}
    FROM ${from} WHERE ${when} AND r.parent_id IS NULL AND r.mode = 'normal' AND NOT r.stopped AND ${listens('r.workspace_id')}`;
}

/** Raises the end events of these runs, in the transaction that ended them. */
export async function raiseEndEvents(sql: Sql, runIds: readonly string[]): Promise<void> {
  if (runIds.length === 0) return;
  await sql.query({ name: 'raise-ends', text: endEventsSql('run r', 'r.id = ANY($1)'), values: [runIds] });
}
