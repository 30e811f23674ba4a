import type { Me } from '../../contract/accounts.js';
import type { Deps } from '../../deps.js';
import { notFound } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { avatarPath } from './avatar-path.js';

interface CallerRow {
  readonly name: string;
  readonly owner: string;
  readonly prefix: string | null;
  readonly mintedBy: string | null;
  readonly picture: string | null;
}

/** The caller's identity: the account, their rights in it, and who they are. */
export async function whoAmI(deps: Deps, caller: Caller): Promise<Me> {
  const [row] = await deps.db.query<CallerRow>({
    name: 'who-am-i',
    text: `SELECT t.name, m.email AS owner, k.prefix, k.minted_by AS "mintedBy", a.sha AS picture
           FROM tenant t JOIN member m ON m.id = t.owner_id LEFT JOIN api_key k ON k.tenant_id = t.id AND k.id = $2
           LEFT JOIN avatar a ON a.tenant_id = t.id AND a.kind = 'user' AND a.id = $2
           WHERE t.id = $1`,
    values: [caller.tenant, caller.actor.id],
  });
  if (!row) throw notFound('account');
  const { id, label } = caller.actor;
  return {
    account: caller.tenant,
    name: row.name,
    owner: row.owner,
    role: caller.role,
    workspaces: caller.workspaces === null ? null : [...caller.workspaces],
    avatar: avatarPath('user', id, row.picture),
    actor:
      row.prefix === null || row.mintedBy === null
        ? { kind: 'person', id, email: label }
        : { kind: 'key', id, label, prefix: row.prefix, mintedBy: row.mintedBy },
  };
}
