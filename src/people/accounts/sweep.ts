import type { Deps } from '../../deps.js';
import { sweepRows } from '../../platform/db/index.js';
import { sweepIdempotencyKeys } from './idempotency.js';

/** Deletes expired idempotency keys, sessions, sign-ins of terminals and counts of attempts. */
export async function sweepAccounts(deps: Pick<Deps, 'db'>): Promise<void> {
  await sweepIdempotencyKeys(deps);
  await sweepRows(deps.db, 'session', 'expires_at < now()');
  await sweepRows(deps.db, 'cli_login', `expires_at < now() - interval '1 hour'`);
  await sweepRows(deps.db, 'rate_limit', 'expire < extract(epoch FROM now()) * 1000');
}
