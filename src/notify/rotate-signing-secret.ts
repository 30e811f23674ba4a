import type { SigningSecret } from '../contract/notifications.js';
import type { Deps } from '../deps.js';
import { audit } from '../people/index.js';
import type { Caller } from '../shared/roles.js';
import { requireFullAccess } from './require-full-access.js';
import { signingSecret } from './sign.js';

/**
 * Creates the account's next signing secret; the response is the only place where it appears. POSTs carry a signature
 * by the previous secret too for one day.
 */
export async function rotateSigningSecret(deps: Deps, caller: Caller): Promise<SigningSecret> {
  requireFullAccess(caller);
  const version = await deps.db.transaction(async (sql) => {
    const [row] = await sql.query<{ version: number }>(
      'UPDATE tenant SET notify_key = notify_key + 1, notify_key_at = now() WHERE id = $1 RETURNING notify_key AS version',
      [caller.tenant],
    );
    await audit(sql, caller, 'notify.secret', caller.tenant);
    return row?.version ?? 0;
  });
  return { secret: signingSecret(deps.keys.signing, caller.tenant, version) };
}
