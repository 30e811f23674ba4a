import type { DeletedSecret } from '../contract/secrets.js';
import type { Deps } from '../deps.js';
import { audit } from '../people/index.js';
import { notFound } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { vaultToWrite } from './vault.js';

/** Deletes a secret from one vault. Readers then get the account's secret of that name, or fail with its name. */
export async function deleteSecret(
  deps: Deps,
  caller: Caller,
  { name, workspace }: { readonly name: string; readonly workspace?: string | undefined },
): Promise<DeletedSecret> {
  await deps.db.transaction(async (tx) => {
    const vault = await vaultToWrite(tx, caller, workspace);
    const gone = await tx.query({
      name: 'secret-delete',
      text: `DELETE FROM secret WHERE tenant_id = $1 AND workspace_id IS NOT DISTINCT FROM $2 AND name = $3 RETURNING 1`,
      values: [caller.tenant, vault.workspace, name],
    });
    if (gone.length === 0) throw notFound('secret');
    await audit(tx, caller, 'secret.delete', name, { workspace: workspace ?? null });
  });
  return { ok: true, name, workspace: workspace ?? null };
}
