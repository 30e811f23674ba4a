import type { HookUrls } from '../contract/triggers.js';
import type { Deps } from '../deps.js';
import { audit } from '../people/index.js';
import { findTarget } from '../runs/index.js';
import { baseUrlOf } from '../shared/base-url.js';
import { atLeast, type Caller } from '../shared/roles.js';
import { deriveToken } from '../shared/tokens.js';

interface HookPlace {
  readonly tenant: string;
  readonly workspace: { readonly id: string; readonly name: string };
  readonly flow: string;
}

/** Uses the workspace's id instead of its name, so that the token stays valid after a rename. */
export function hookFields({ workspace, flow }: Pick<HookPlace, 'workspace' | 'flow'>, generation: number): string[] {
  return [workspace.id, flow, String(generation)];
}

/** The URLs that external systems post to for this flow. A URL is enough to start the flow. */
function addressesOf(deps: Pick<Deps, 'keys' | 'config'>, place: HookPlace, generation: number): HookUrls {
  const token = deriveToken(deps.keys.signing, 'hook', hookFields(place, generation));
  const path = `${place.tenant}/${place.workspace.name}/${place.flow}?token=${token}`;
  const base = baseUrlOf(deps.config);
  return { hookUrl: `${base}/api/hooks/${path}`, inboxUrl: `${base}/api/inbox/${path}` };
}

/** The URLs of a flow's triggers, for callers who may start the flow: editors and above. */
export async function shownAddresses(
  deps: Deps,
  caller: Caller,
  { workspace: name, flow }: { readonly workspace: string; readonly flow: string },
): Promise<Partial<HookUrls>> {
  if (!atLeast(caller.role, 'editor')) return {};
  const { workspace, live } = await findTarget(deps.db, caller, { workspace: name, target: `flows/${flow}` });
  const { triggers } = live.plan;
  const row = await deps.db.prisma.hookToken.findFirst({
    select: { generation: true },
    where: { workspaceId: workspace.id, flow },
  });
  const { hookUrl, inboxUrl } = addressesOf(deps, { tenant: caller.tenant, workspace, flow }, row?.generation ?? 0);
  return { ...(triggers.includes('webhook') && { hookUrl }), ...(triggers.includes('email') && { inboxUrl }) };
}

/** Gives the flow a new token. The old URLs stop working with the commit. */
export async function rotateHook(
  deps: Deps,
  caller: Caller,
  { workspace: name, flow }: { readonly workspace: string; readonly flow: string },
): Promise<HookUrls> {
  return deps.db.transaction(async (sql) => {
    const { workspace } = await findTarget(sql, caller, { workspace: name, target: `flows/${flow}`, lock: 'share' });
    const [row] = await sql.query<{ generation: number }>(
      `INSERT INTO hook_token AS t (workspace_id, flow, generation) VALUES ($1, $2, 1)
        ON CONFLICT (workspace_id, flow) DO UPDATE SET generation = t.generation + 1 RETURNING generation`,
      [workspace.id, flow],
    );
    await audit(sql, caller, 'hook.rotate', flow, { workspace: name });
    return addressesOf(deps, { tenant: caller.tenant, workspace, flow }, row?.generation ?? 1);
  });
}
