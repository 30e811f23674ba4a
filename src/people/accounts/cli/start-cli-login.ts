import type { CliLoginStarted } from '../../../contract/auth.js';
import type { Deps } from '../../../deps.js';
import { hashKey } from '../key-format.js';
import { callerOf, countAttempt } from '../limits.js';
import { randomCode } from '../primitives.js';
import { newCliCode } from './codes.js';

/** Seconds between two polls. */
export const POLL_INTERVAL = 5;

/** Starts a terminal's sign-in. `base` is the address at which people reach the service. */
export async function startCliLogin(
  deps: Pick<Deps, 'db'>,
  { hostname, address, base }: { readonly hostname: string; readonly address: string | null; readonly base: string },
): Promise<CliLoginStarted> {
  await countAttempt(deps, { 'cli-caller': callerOf(address) });
  const id = randomCode(32);
  for (;;) {
    const code = newCliCode();
    const [row] = await deps.db.query<{ expiresAt: Date }>({
      name: 'start-cli-login',
      text: `INSERT INTO cli_login (id_hash, code, hostname, address, expires_at)
             VALUES ($1, $2, $3, $4, now() + interval '10 minutes')
             ON CONFLICT (code) DO NOTHING RETURNING expires_at AS "expiresAt"`,
      values: [hashKey(id), code, hostname, address],
    });
    if (!row) continue;
    const verifyUrl = `${base}/api/cli/authorize?code=${code}`;
    return { id, code, verifyUrl, expiresAt: row.expiresAt.toISOString(), interval: POLL_INTERVAL };
  }
}
