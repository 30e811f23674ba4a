import type { Deps } from '../deps.js';
import { sweepIdempotencyKeys } from './idempotency.js';

/** Removes what has had its time: idempotency keys, sessions, terminals' sign-ins, counts of attempts. */
export async function sweepAccounts(deps: Pick<Deps, 'db'>): Promise<void> {
  await sweepIdempotencyKeys(deps);
  await deps.db.query('DELETE FROM session WHERE expires_at < now()');
  await deps.db.query(`DELETE FROM cli_login WHERE expires_at < now() - interval '1 hour'`);
  await deps.db.query('DELETE FROM rate_limit WHERE expire < extract(epoch FROM now()) * 1000');
}
