import type { KeyList } from '../../contract/keys.js';
import type { Deps } from '../../deps.js';
import { keyCursors } from '../../shared/cursor.js';
import type { Caller } from '../../shared/roles.js';
import { requireOwnTenant } from './find-tenant.js';
import { KEY_COLUMNS, KEY_OWNERS, KEY_REACH, type KeyRow, keyView } from './key-view.js';

const cursors = keyCursors('keys');

export interface ListKeysInput {
  readonly tenant?: string | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/**
 * The keys that were not revoked, newest first, including expired ones. A caller whose access is limited to some
 * workspaces sees only the keys that are limited to these.
 */
export async function listKeys(deps: Pick<Deps, 'db'>, caller: Caller, input: ListKeysInput): Promise<KeyList> {
  requireOwnTenant(caller, input.tenant);
  const rows = await deps.db.query<KeyRow>({
    name: 'list-keys',
    text: `SELECT ${KEY_COLUMNS} ${KEY_OWNERS}
           WHERE k.tenant_id = $1 AND k.revoked_at IS NULL AND ($2::text IS NULL OR k.id < $2)
             AND ($3::text[] IS NULL OR ${KEY_REACH} <@ $3)
           ORDER BY k.id DESC LIMIT $4`,
    values: [caller.tenant, cursors.read(input.cursor), caller.workspaces, input.limit + 1],
  });
  const { page, next } = cursors.page(rows, input.limit, ({ id }) => id);
  return { keys: page.map(keyView), next };
}
