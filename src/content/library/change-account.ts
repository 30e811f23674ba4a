import type { AccountBody, ChangeAccount } from '../../contract/account.js';
import type { Deps } from '../../deps.js';
import { setKeys } from '../../format/index.js';
import { readAccount } from '../../people/index.js';
import type { Json } from '../../shared/json.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { textBytes } from '../../shared/text-bytes.js';
import { ACCOUNT_FILE } from '../workspaces/library-tree.js';
import { adoptAccountFile } from './adopt-account-file.js';
import { changeLibrary } from './change-library.js';

/**
 * Sets keys of the account's AGENTS.md in place, as a change of the library; all other bytes stay. The file and the
 * columns that budgets and schedules read change together. Refuses a file with errors.
 */
export async function changeAccount(deps: Deps, caller: Caller, keys: ChangeAccount): Promise<AccountBody> {
  if (caller.workspaces !== null)
    throw new Refusal(
      'forbidden',
      'the account’s defaults apply to every workspace, and your access is limited to some workspaces',
      {
        need: 'every workspace',
      },
    );
  const sent = sentKeys(keys);
  await adoptAccountFile(deps, caller.tenant);
  await changeLibrary(deps, caller, {
    action: 'account.change',
    target: caller.tenant,
    detail: keys,
    message: `Set ${Object.keys(sent).join(', ')}`,
    via: 'edit',
    edit: async (files, { read }) => {
      const edited = setKeys((await read(ACCOUNT_FILE)) ?? '', sent);
      if (!edited.ok) throw new Refusal('refused', `${ACCOUNT_FILE} of the account: ${edited.reason}`);
      return new Map<string, Uint8Array | { readonly sha: string }>(files).set(ACCOUNT_FILE, textBytes(edited.text));
    },
  });
  return readAccount(deps, caller);
}

function sentKeys(keys: ChangeAccount): Record<string, Json> {
  const sent = Object.entries(keys).filter(([, value]) => value !== undefined);
  if (sent.length === 0) throw new Refusal('refused', 'the body is empty: give timezone, budget or notify');
  return Object.fromEntries(sent) as Record<string, Json>;
}
