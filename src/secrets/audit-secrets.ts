import type { InstallKeys } from '../platform/config/index.js';
import type { Sql } from '../platform/db/contract.js';
import { CannotOpen, clientPlace, type Envelope, open } from './envelope.js';
import { openRow, SECRET_COLUMNS, type SecretRow } from './secret-rows.js';

const BATCH = 200;

/** Faults in the secrets of all accounts, a sentence each, without values; for the doctor. Null `keys`: no install key. */
export async function auditSecrets(sql: Sql, keys: InstallKeys | null): Promise<readonly string[]> {
  const faults = await orphans(sql);
  const ring = keys ?? { signing: new Uint8Array(), ring: [] };
  for (let after: string | null = ''; after !== null; ) {
    const from: string = after;
    const rows = await sql.query<SecretRow>(
      `SELECT ${SECRET_COLUMNS} FROM secret WHERE id > $1 ORDER BY id LIMIT ${BATCH}`,
      [from],
    );
    for (const row of rows) {
      const fault = openFault(() => openRow(ring, row));
      if (fault !== null) faults.push(`Account ${row.tenant}: ${fault}.`);
    }
    after = rows.length === BATCH ? (rows.at(-1)?.id ?? null) : null;
  }
  return [...faults, ...(await clientFaults(sql, ring))];
}

type Client = Envelope & { readonly id: string; readonly tenant: string; readonly name: string };

/** OAuth clients whose secret cannot be decrypted. An account has only a few clients. */
async function clientFaults(sql: Sql, keys: InstallKeys): Promise<string[]> {
  const rows = await sql.query<Client>(
    `SELECT id, tenant_id AS tenant, name, key_id AS "keyId", wrapped_key AS "wrappedKey", sealed FROM oauth_client
     WHERE key_id IS NOT NULL ORDER BY id`,
  );
  return rows.flatMap((row) => {
    const fault = openFault(() => open(keys, clientPlace(row), row));
    return fault === null ? [] : [`Account ${row.tenant}: the OAuth client ${row.name}: ${fault}.`];
  });
}

function openFault(work: () => unknown): string | null {
  try {
    work();
    return null;
  } catch (error) {
    if (error instanceof CannotOpen) return error.message;
    throw error;
  }
}

async function orphans(sql: Sql): Promise<string[]> {
  const rows = await sql.query<{ says: string }>(
    `SELECT format('Account %s: the secret %s lies in the vault of a workspace that is gone.', s.tenant_id, s.name) AS says
       FROM secret s WHERE s.workspace_id IS NOT NULL
         AND NOT EXISTS (SELECT 1 FROM workspace w WHERE w.id = s.workspace_id AND w.tenant_id = s.tenant_id)
     UNION ALL SELECT format('Account %s is gone, but its secret %s is there.', s.tenant_id, s.name)
       FROM secret s WHERE NOT EXISTS (SELECT 1 FROM tenant t WHERE t.id = s.tenant_id)`,
  );
  return rows.map(({ says }) => says);
}
