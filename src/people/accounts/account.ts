import type { AccountBody } from '../../contract/account.js';
import type { Me } from '../../contract/accounts.js';
import type { Deps } from '../../deps.js';
import { isTimeZone } from '../../format/values/time-zone.js';
import type { Sql, TableRow } from '../../platform/db/contract.js';
import { toUsd } from '../../shared/money.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { audit } from './audit.js';
import { avatarPath } from './avatar-path.js';

interface AccountRow extends Pick<TableRow<'Tenant'>, 'name' | 'timezone' | 'budgetNano' | 'notify'> {
  readonly picture: string | null;
}

/** The account's defaults, as the last AGENTS.md or API call set them. */
export async function readAccount({ db }: { readonly db: Sql }, caller: Pick<Caller, 'tenant'>): Promise<AccountBody> {
  const [row] = await db.query<AccountRow>({
    name: 'read-account',
    text: `SELECT t.name, t.timezone, t.budget_nano AS "budgetNano", t.notify,
             (SELECT a.sha FROM avatar a WHERE a.tenant_id = t.id AND a.kind = 'account' AND a.id = t.id) AS picture
           FROM tenant t WHERE t.id = $1`,
    values: [caller.tenant],
  });
  if (!row) throw notFound('account');
  const { name, timezone, budgetNano, notify, picture } = row;
  const budget = budgetNano === null ? null : toUsd(budgetNano);
  return {
    account: caller.tenant,
    name,
    timezone,
    budget,
    notify,
    avatar: avatarPath('account', caller.tenant, picture),
  };
}

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

/** Sets the time zone of cron expressions for flows and workspaces without their own. Null clears it. */
export async function setTimezone(deps: Pick<Deps, 'db'>, caller: Caller, timezone: string | null): Promise<void> {
  if (timezone !== null && !isTimeZone(timezone))
    throw new Refusal('refused', `timezone: "${timezone}" is not a time zone: use a name such as Europe/Berlin`);
  await deps.db.transaction(async (sql) => {
    await sql.query('UPDATE member SET timezone = $2 WHERE id = $1', [caller.person?.id ?? null, timezone]);
    await audit(sql, caller, 'timezone.set', caller.person?.id ?? '', { timezone });
  });
}
