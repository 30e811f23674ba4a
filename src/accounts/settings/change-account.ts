import type { AccountBody, ChangeAccount } from '../../contract/account.js';
import type { Sql } from '../../db/contract.js';
import type { Deps } from '../../deps.js';
import type { Json } from '../../shared/json.js';
import { toNano } from '../../shared/money.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { setKeys, type Workspace } from '../../workspace/index.js';
import { audit } from '../audit.js';
import { readAccount } from './read-account.js';

/** The account's own file, at the root of its library. */
const FILE = 'AGENTS.md';

/**
 * Sets keys of the account's AGENTS.md in place: what is not meant stays byte for byte. The file and the columns that
 * budgets and schedules read change in one transaction. A file that would not be sound is refused with its issues.
 */
export async function changeAccount(deps: Deps, caller: Caller, keys: ChangeAccount): Promise<AccountBody> {
  if (caller.workspaces !== null)
    throw new Refusal('forbidden', 'the account’s defaults hold for every workspace, and you are narrowed to some', {
      need: 'every workspace',
    });
  return deps.db.transaction(async (sql) => {
    await sql.query('SELECT 1 FROM tenant WHERE id = $1 FOR UPDATE', [caller.tenant]);
    const edited = setKeys(await readFile(sql, caller.tenant), sentKeys(keys));
    if (!edited.ok) throw new Refusal('refused', `${FILE} of the account: ${edited.reason}`);
    const content = new TextEncoder().encode(edited.text);
    const defaults = await check(deps, content);
    await sql.query(
      `INSERT INTO library_file (tenant_id, path, content) VALUES ($1, $2, $3)
       ON CONFLICT (tenant_id, path) DO UPDATE SET content = excluded.content, updated_at = now()`,
      [caller.tenant, FILE, content],
    );
    await writeColumns(sql, caller.tenant, defaults);
    await audit(sql, caller, 'account.change', caller.tenant, keys);
    return readAccount({ db: sql }, caller);
  });
}

function sentKeys(keys: ChangeAccount): Record<string, Json> {
  const sent = Object.entries(keys).filter(([, value]) => value !== undefined);
  if (sent.length === 0) throw new Refusal('refused', 'the body is empty: give timezone, budget or notify');
  return Object.fromEntries(sent) as Record<string, Json>;
}

async function readFile(sql: Sql, tenant: string): Promise<string> {
  const [file] = await sql.query<{ content: Uint8Array }>(
    'SELECT content FROM library_file WHERE tenant_id = $1 AND path = $2',
    [tenant, FILE],
  );
  return file ? new TextDecoder().decode(file.content) : '';
}

/** What the file says, read as every file of a tree is: off the event loop, within limits. */
async function check({ checker }: Deps, content: Uint8Array): Promise<Workspace> {
  const { workspace, issues } = await checker.check([{ path: FILE, content }], {
    livePaths: [],
    secrets: null,
    models: null,
  });
  if (workspace) return workspace;
  const [first] = issues.filter(({ severity }) => severity === 'error');
  throw new Refusal('refused', `${FILE} of the account: ${first?.message ?? 'it cannot be read'}`, { issues });
}

async function writeColumns(sql: Sql, tenant: string, { timezone, budgetUsd, notify }: Workspace): Promise<void> {
  await sql.query('UPDATE tenant SET timezone = $2, budget_nano = $3, notify = $4 WHERE id = $1', [
    tenant,
    timezone,
    budgetUsd === null ? null : toNano(budgetUsd),
    notify === null ? null : JSON.stringify(notify),
  ]);
}
