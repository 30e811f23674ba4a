import type { InstallKeys } from '../../platform/config/index.js';
import type { Sql } from '../../platform/db/contract.js';
import type { Grant } from './grant.js';
import { storeToken } from './token-rows.js';
import { timesOf } from './token-times.js';

/** Stores the token of a new connection, so that its first use needs no exchange. */
export async function storeGrant(
  tx: Sql,
  keys: InstallKeys,
  { id, grant, askedAt }: { readonly id: string; readonly grant: Grant; readonly askedAt: number },
): Promise<void> {
  const [row] = await tx.query<{ version: number }>('SELECT version FROM secret WHERE id = $1', [id]);
  if (row === undefined) return;
  const times = timesOf(grant.expiresInSeconds, askedAt);
  await storeToken(tx, keys, { id, version: row.version, attempt: null, token: grant.accessToken, ...times });
}
