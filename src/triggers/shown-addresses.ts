import type { HookUrls } from '../contract/triggers.js';
import type { Deps } from '../deps.js';
import { findTarget } from '../runs/index.js';
import { atLeast, type Caller } from '../shared/roles.js';
import { addressesOf } from './hook-address.js';

/** The URLs of a flow's triggers, for callers who may start the flow: editors and above. */
export async function shownAddresses(
  deps: Deps,
  caller: Caller,
  { workspace: name, flow }: { readonly workspace: string; readonly flow: string },
): Promise<Partial<HookUrls>> {
  if (!atLeast(caller.role, 'editor')) return {};
  const { workspace, live } = await findTarget(deps.db, caller, { workspace: name, target: `flows/${flow}` });
  const { triggers } = live.plan;
  const row = await deps.db.prisma.hookToken.findUnique({
    select: { generation: true },
    where: { workspaceId_flow: { workspaceId: workspace.id, flow } },
  });
  const { hookUrl, inboxUrl } = addressesOf(deps, { tenant: caller.tenant, workspace, flow }, row?.generation ?? 0);
  return { ...(triggers.includes('webhook') && { hookUrl }), ...(triggers.includes('email') && { inboxUrl }) };
}
