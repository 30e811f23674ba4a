import type { Deliveries } from '../contract/triggers.js';
import type { Deps } from '../deps.js';
import { findTarget } from '../runs/index.js';
import { keyCursors, type PageInput } from '../shared/cursor.js';
import type { Caller } from '../shared/roles.js';

export interface OfFlow {
  readonly workspace: string;
  readonly flow: string;
}

const cursors = keyCursors('deliveries');

/** The stored deliveries of a flow with their outcomes, newest first. */
export async function listDeliveries(
  deps: Deps,
  caller: Caller,
  { workspace: name, flow, limit, cursor }: OfFlow & PageInput,
): Promise<Deliveries> {
  const { workspace } = await findTarget(deps.db, caller, { workspace: name, target: `flows/${flow}` });
  const rows = await deps.db.query<Omit<Deliveries['deliveries'][number], 'at'> & { readonly at: Date }>(
    `SELECT id, at, kind, outcome, detail, run_id AS "runId", delivery_id AS "deliveryId", address,
        redelivery_of AS "redeliveryOf"
      FROM delivery WHERE workspace_id = $1 AND flow = $2 AND ($3::text IS NULL OR id < $3) ORDER BY id DESC LIMIT $4`,
    [workspace.id, flow, cursors.read(cursor), limit + 1],
  );
  const { page, next } = cursors.page(rows, limit, ({ id }) => id);
  return { deliveries: page.map((row) => ({ ...row, at: row.at.toISOString() })), next };
}
