import type { HookUrls } from '../contract/triggers.js';
import type { Deps } from '../deps.js';
import { audit } from '../people/index.js';
import { findTarget } from '../runs/index.js';
import type { Caller } from '../shared/roles.js';
import { addressesOf } from './hook-address.js';

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
