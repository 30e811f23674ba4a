import type { WorkspaceEvent } from '../../format/index.js';
import type { Sql } from '../../platform/db/contract.js';
import type { Json } from '../../shared/json.js';
import { storableJson } from '../../shared/storable-json.js';

/**
 * SQL: whether any flow of the live revision listens to events. An event without a listener leaves no row. Previews
 * raise no events, since experiments there must not start flows.
 */
export function listens(workspaceId: string): string {
  return `EXISTS (SELECT 1 FROM workspace lw JOIN revision lv ON lv.workspace_id = lw.id AND lv.seq = lw.live_seq
    WHERE lw.id = ${workspaceId} AND lw.preview_of IS NULL
      AND jsonb_path_exists(lv.index, '$.flows[*] ? (@.enabled == true).triggers[*] ? (@ == "event")'))`;
}

/** SQL: the flows that events started on the way to this run, from the run's `trigger`. */
export function chainOf(trigger: string): string {
  return `ARRAY(SELECT jsonb_array_elements_text(CASE WHEN ${trigger}->>'kind' = 'event' THEN ${trigger}->'chain' ELSE '[]' END))`;
}

export interface Raised {
  readonly workspaceId: string;
  readonly kind: WorkspaceEvent;
  /** The input of the runs that it starts. */
  readonly body: { readonly [key: string]: Json };
  /** The run that caused it, if any. Flows that events have started on the way to that run do not start again. */
  readonly runId: string | null;
}

/** Raises an event of the workspace, in the transaction that it reports. Each listening flow starts once. */
export async function raiseEvent(sql: Sql, { workspaceId, kind, body, runId }: Raised): Promise<void> {
  await sql.query({
    name: 'raise-event',
    text: `INSERT INTO raised_event (workspace_id, kind, body, chain)
      SELECT $1, $2, $3, coalesce((SELECT ${chainOf('r.trigger')} FROM run r WHERE r.id = $4), '{}') WHERE ${listens('$1')}`,
    values: [workspaceId, kind, storableJson({ event: kind, ...body }), runId],
  });
}
