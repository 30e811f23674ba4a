import type { DeletedSecret, PutSecretAnswer, PutSecretBody } from '../contract/secrets.js';
import type { Deps } from '../deps.js';
import { audit } from '../people/index.js';
import type { InstallKeys } from '../platform/config/index.js';
import type { Sql } from '../platform/db/contract.js';
import { newId } from '../shared/ids.js';
import { notFound, Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { type SealedAt, seal } from './envelope.js';
import { listSecrets } from './list-secrets.js';
import type { SecretPlace, SecretValue } from './model.js';
import { contentOf, lockRow, type SecretRow } from './secret-rows.js';
import { faultOf, SHAPES } from './shapes/index.js';
import { checkSecretName, vaultToWrite } from './vault.js';

/** Stores a secret in the account's or a workspace's vault, replacing one of that name. Its value is never returned. */
export async function putSecret(deps: Deps, caller: Caller, input: PutSecretBody): Promise<PutSecretAnswer> {
  const { name, workspace } = input;
  checkSecretName(name);
  const value = givenValue(input);
  const fault = (await faultOf(value)) ?? endpointFault(deps, value);
  if (fault !== null) throw new Refusal('refused', fault, { code: 'secret/bad-value' });
  const created = await deps.db.transaction(async (tx) => {
    const vault = await vaultToWrite(tx, caller, workspace);
    const written = await writeSecret(tx, deps.keys, { tenant: caller.tenant, ...vault, name, value });
    await audit(tx, caller, 'secret.put', name, { workspace: workspace ?? null, shape: value.shape });
    return written.created;
  });
  const { secrets } = await listSecrets(deps, caller, { workspace, limit: Number.MAX_SAFE_INTEGER });
  const stored = secrets.find((one) => one.name === name && one.workspace === (workspace ?? null));
  if (stored === undefined) throw notFound('secret');
  return { ...stored, ok: true, created };
}

function givenValue(input: PutSecretBody): SecretValue {
  const given = SHAPES.filter((shape) => input[shape] !== undefined);
  const [shape] = given;
  if (shape !== undefined && given.length === 1) return { shape, value: input[shape] } as SecretValue;
  const found = given.length === 0 ? 'none is there' : `there are ${given.join(' and ')}`;
  throw new Refusal('refused', `give exactly one of ${SHAPES.join(', ')}: ${found}`, { code: 'secret/bad-shape' });
}

/** Token endpoints are called through the guarded client, which refuses some URLs. */
function endpointFault({ net }: Deps, { shape, value }: SecretValue): string | null {
  if (shape !== 'oauth2' && shape !== 'service_account') return null;
  const [key, url] = shape === 'oauth2' ? ['token_url', value.token_url] : ['token_uri', value.token_uri];
  const fault = net.check(url, { httpsOnly: true });
  return fault && `${shape}.${key}: ${fault.message}`;
}

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

/** Stores a checked value, replacing an older one. Returns whether it created the secret. */
export async function writeSecret(
  tx: Sql,
  keys: InstallKeys,
  { value, ...place }: SecretPlace & { readonly value: SecretValue },
): Promise<{ readonly id: string; readonly created: boolean }> {
  const made = (await lockRow(tx, place)) === undefined ? await insert(tx, keys, place, value) : null;
  if (made !== null) return { id: made, created: true };
  // Another writer may have been first: then replace its row.
  const row = await lockRow(tx, place);
  if (row === undefined) throw new Error(`the secret ${place.name} was created and deleted while it was stored`);
  await update(tx, keys, row, value);
  return { id: row.id, created: false };
}

/** Inserts the secret and returns its id; null when a secret of this name was created meanwhile. */
async function insert(tx: Sql, keys: InstallKeys, place: SecretPlace, value: SecretValue): Promise<string | null> {
  const { keyId, wrappedKey, sealed } = seal(keys, { ...place, version: 1 }, contentOf(value));
  const [row] = await tx.query<{ id: string }>({
    name: 'secret-insert',
    text: `INSERT INTO secret (id, tenant_id, workspace_id, name, shape, key_id, wrapped_key, sealed)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (tenant_id, workspace_id, name) DO NOTHING RETURNING id`,
    values: [newId(), place.tenant, place.workspace, place.name, value.shape, keyId, wrappedKey, sealed],
  });
  return row?.id ?? null;
}

async function update(tx: Sql, keys: InstallKeys, row: SecretRow, value: SecretValue): Promise<void> {
  const at: SealedAt = { ...row, version: row.version + 1 };
  const { keyId, wrappedKey, sealed } = seal(keys, at, contentOf(value));
  await tx.query({
    name: 'secret-update',
    text: `UPDATE secret SET shape = $2, version = $3, key_id = $4, wrapped_key = $5, sealed = $6, status = 'ok',
      updated_at = now() WHERE id = $1`,
    values: [row.id, value.shape, at.version, keyId, wrappedKey, sealed],
  });
}

/**
 * Stores what the service itself learned of a secret, such as a rotated refresh token, unless a person stored another
 * version meanwhile. Returns the new version, or null when it came too late.
 */
export async function replaceSecret(
  tx: Sql,
  keys: InstallKeys,
  { id, version, value }: { readonly id: string; readonly version: number; readonly value: SecretValue },
): Promise<number | null> {
  const [row] = await tx.query<SealedAt>({
    name: 'secret-version',
    text: `SELECT tenant_id AS tenant, workspace_id AS workspace, name, version + 1 AS version FROM secret
      WHERE id = $1 AND version = $2 FOR UPDATE`,
    values: [id, version],
  });
  if (row === undefined) return null;
  const { keyId, wrappedKey, sealed } = seal(keys, row, contentOf(value));
  await tx.query({
    name: 'secret-replace',
    text: `UPDATE secret SET shape = $2, version = $3, key_id = $4, wrapped_key = $5, sealed = $6, status = 'ok' WHERE id = $1`,
    values: [id, value.shape, row.version, keyId, wrappedKey, sealed],
  });
  return row.version;
}

/** Marks a value that the provider no longer accepts: a person must reconnect. Keeps the value, and any newer one. */
export async function markReconnect(sql: Sql, { id, version }: { id: string; version: number }): Promise<void> {
  await sql.query({
    name: 'secret-reconnect',
    text: `UPDATE secret SET status = 'reconnect' WHERE id = $1 AND version = $2`,
    values: [id, version],
  });
}
