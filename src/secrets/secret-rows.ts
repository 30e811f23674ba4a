import type { InstallKeys } from '../platform/config/index.js';
import type { Sql, TableRow } from '../platform/db/contract.js';
import { isRecord } from '../shared/json.js';
import { CannotOpen, open } from './envelope.js';
import type { OpenedSecret, SecretStatus, SecretValue, Shape } from './model.js';

export interface SecretRow
  extends Pick<TableRow<'Secret'>, 'id' | 'name' | 'version' | 'keyId' | 'wrappedKey' | 'sealed'> {
  readonly tenant: string;
  readonly workspace: string | null;
  readonly shape: Shape;
  readonly status: SecretStatus;
}

export const SECRET_COLUMNS = `id, tenant_id AS tenant, workspace_id AS workspace, name, shape, version, key_id AS "keyId",
  wrapped_key AS "wrappedKey", sealed, status`;

/** Decrypts a row. Throws CannotOpen when its install key is missing or its bytes were not sealed for this place. */
export function openRow(keys: InstallKeys, row: SecretRow): OpenedSecret {
  const { id, name, shape, version, status } = row;
  const content: unknown = JSON.parse(open(keys, row, row));
  if (!isRecord(content) || !Object.hasOwn(content, shape)) {
    throw new CannotOpen(`the secret ${name} does not have the shape that its row names: store it again`);
  }
  const store = row.workspace === null ? 'account' : 'workspace';
  return { ...({ shape, value: content[shape] } as SecretValue), id, name, store, version, status };
}

/** The text to encrypt: the value under its shape's name. */
export function contentOf({ shape, value }: SecretValue): string {
  return JSON.stringify({ [shape]: value });
}

/** The row of this name in one vault, locked; undefined when there is none. */
export async function lockRow(
  sql: Sql,
  place: Pick<SecretRow, 'tenant' | 'workspace' | 'name'>,
): Promise<SecretRow | undefined> {
  const [row] = await sql.query<SecretRow>({
    name: 'secret-lock',
    text: `SELECT ${SECRET_COLUMNS} FROM secret
      WHERE tenant_id = $1 AND workspace_id IS NOT DISTINCT FROM $2 AND name = $3 FOR UPDATE`,
    values: [place.tenant, place.workspace, place.name],
  });
  return row;
}
