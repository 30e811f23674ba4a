import type { AccountBody } from '../../contract/account.js';
import type { Sql } from '../../platform/db/contract.js';
import type { Json } from '../../shared/json.js';
import { toUsd } from '../../shared/money.js';
import { notFound } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { avatarPath } from './avatar-path.js';

interface AccountRow {
  readonly name: string;
  readonly timezone: string | null;
  readonly budgetNano: bigint | null;
  readonly notify: Json;
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
