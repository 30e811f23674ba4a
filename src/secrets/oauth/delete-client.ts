import type { RemovedOAuthClient } from '../../contract/oauth.js';
import type { Deps } from '../../deps.js';
import { audit } from '../../people/index.js';
import { notFound } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { requireEveryWorkspace } from './require-every-workspace.js';

/** Deletes a client. Secrets that were connected through it hold a copy of its settings and keep working. */
export async function deleteClient(
  deps: Deps,
  caller: Caller,
  { name }: { readonly name: string },
): Promise<RemovedOAuthClient> {
  requireEveryWorkspace(caller);
  await deps.db.transaction(async (tx) => {
    const gone = await tx.query({
      name: 'oauth-client-delete',
      text: 'DELETE FROM oauth_client WHERE tenant_id = $1 AND name = $2 RETURNING 1',
      values: [caller.tenant, name],
    });
    if (gone.length === 0) throw notFound('OAuth client');
    await audit(tx, caller, 'oauth.client.delete', name);
  });
  return { ok: true, name };
}
