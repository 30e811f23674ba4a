import type { Deliveries } from '../contract/triggers.js';
import type { Deps } from '../deps.js';
import type { Delivery } from '../platform/db/contract.js';
import { findTarget } from '../runs/index.js';
import { keyCursors, type PageInput } from '../shared/cursor.js';
import type { Caller } from '../shared/roles.js';

export interface OfFlow {
  readonly workspace: string;
  readonly flow: string;
}

type Entry = Deliveries['deliveries'][number];

const cursors = keyCursors('deliveries');

const SHOWN = {
  id: true,
  at: true,
  kind: true,
  outcome: true,
  detail: true,
  runId: true,
  deliveryId: true,
  address: true,
  redeliveryOf: true,
} as const satisfies Record<keyof Entry, true>;

/** The stored deliveries of a flow with their outcomes, newest first. */
export async function listDeliveries(
  deps: Deps,
  caller: Caller,
  { workspace: name, flow, limit, cursor }: OfFlow & PageInput,
): Promise<Deliveries> {
  const { workspace } = await findTarget(deps.db, caller, { workspace: name, target: `flows/${flow}` });
  const after = cursors.read(cursor);
  const rows = await deps.db.prisma.delivery.findMany({
    select: SHOWN,
    where: { workspaceId: workspace.id, flow, ...(after !== null && { id: { lt: after } }) },
    orderBy: { id: 'desc' },
    take: limit + 1,
  });
  const { page, next } = cursors.page(rows, limit, ({ id }) => id);
  return { deliveries: page.map(toView), next };
}

function toView(row: Pick<Delivery, keyof typeof SHOWN>): Entry {
  return {
    ...row,
    at: row.at.toISOString(),
    kind: row.kind as Entry['kind'],
    outcome: row.outcome as Entry['outcome'],
  };
}
