import type { Deps } from '../../deps.js';
import type { Issue, Workspace } from '../../format/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { toNano } from '../../shared/money.js';
import { Refusal } from '../../shared/refusal.js';
import { atLeast, type Caller } from '../../shared/roles.js';
import { ACCOUNT_FILE } from '../workspaces/library-tree.js';
import type { PreparedFile } from '../workspaces/prepare-tree.js';
import { urlIssues } from '../workspaces/refuse-urls.js';

type Files = ReadonlyMap<string, { readonly sha: string }>;

/** True when a change of the library changes the account's own file. */
export function touchesAccount(before: Files, after: Files): boolean {
  return before.get(ACCOUNT_FILE)?.sha !== after.get(ACCOUNT_FILE)?.sha;
}

/** Editors may change the library, but only admins the account's own file. */
export function requireAccountAdmin(caller: Caller): void {
  if (atLeast(caller.role, 'admin')) return;
  throw new Refusal('forbidden', `needs role admin to change ${ACCOUNT_FILE}, which holds the account’s defaults`, {
    need: 'admin',
  });
}

/** Reads and checks the account's file in a check worker, like any file of a tree. A missing file counts as empty. */
export async function checkAccountFile(
  { checker, net }: Deps,
  files: ReadonlyMap<string, PreparedFile>,
): Promise<{ readonly says: Workspace | null; readonly issues: readonly Issue[] }> {
  const content = files.get(ACCOUNT_FILE)?.content ?? new Uint8Array();
  const { workspace, issues, urls } = await checker.check([{ path: ACCOUNT_FILE, content }], {
    livePaths: [],
    secrets: null,
    models: null,
  });
  const errors = issues.filter(({ severity }) => severity === 'error');
  return { says: workspace, issues: [...errors, ...urlIssues({ net }, urls)] };
}

/** Writes the columns that budgets, schedules and notifications read, in the transaction that changes the file. */
export async function writeAccount(
  sql: Sql,
  tenant: string,
  { timezone, budgetUsd, notify }: Workspace,
): Promise<void> {
  await sql.query('UPDATE tenant SET timezone = $2, budget_nano = $3, notify = $4 WHERE id = $1', [
    tenant,
    timezone,
    budgetUsd === null ? null : toNano(budgetUsd),
    notify === null ? null : JSON.stringify(notify),
  ]);
}
