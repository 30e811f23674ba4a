import type { SigningSecret } from '../contract/notifications.js';
import type { Deps } from '../deps.js';
import { audit } from '../people/index.js';
import { deriveKey, hmacSha256 } from '../shared/hmac.js';
import type { Caller } from '../shared/roles.js';
import { requireFullAccess } from './require-full-access.js';

/**
 * The account's signing secret of one version in the format of receivers: `whsec_` and 32 bytes in base64. It is
 * derived from the install key and not stored.
 */
export function signingSecret(installKey: Uint8Array, tenant: string, version: number): string {
  const mac = hmacSha256(deriveKey(installKey, 'notify/v1'), `${tenant.length}:${tenant}:${version}`);
  return `whsec_${mac.toString('base64')}`;
}

/** Standard Webhooks (https://www.standardwebhooks.com), symmetric: HMAC-SHA256 over `id.timestamp.body`. */
export function signature(secret: string, message: { id: string; seconds: number; body: string }): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const { id, seconds, body } = message;
  return `v1,${hmacSha256(key, `${id}.${seconds}.${body}`).toString('base64')}`;
}

const DAY_MS = 86_400_000;

/**
 * The headers of a POST, signed with every accepted install key and, for one day after a rotation, also with the
 * previous secret, so that receivers can change over without losing a notification.
 */
export function signedHeaders(
  { keys }: Pick<Deps, 'keys'>,
  signer: { readonly tenant: string; readonly version: number; readonly since: Date | null },
  message: { readonly id: string; readonly nowMs: number; readonly body: string },
): Readonly<Record<string, string>> {
  const { tenant, version, since } = signer;
  const isFresh = since !== null && version > 0 && message.nowMs - since.getTime() < DAY_MS;
  const versions = isFresh ? [version, version - 1] : [version];
  const seconds = Math.floor(message.nowMs / 1_000);
  const { id, body } = message;
  const signatures = keys.ring.flatMap(({ key }) =>
    versions.map((one) => signature(signingSecret(key, tenant, one), { id, seconds, body })),
  );
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': signatures.join(' ') };
}

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
