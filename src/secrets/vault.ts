import { findWorkspace, requireNoPreview } from '../people/index.js';
import type { Sql } from '../platform/db/contract.js';
import { Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';

export interface Vault {
  /** The workspace's id; null for the account's vault. */
  readonly workspace: string | null;
}

/**
 * The vault that a caller writes: a workspace's by its name, or the account's, which every workspace reads and so is
 * for callers with access to every workspace. A preview has no vault of its own. Deleting the workspace waits for the
 * transaction.
 */
export async function vaultToWrite(tx: Sql, caller: Caller, workspace: string | undefined): Promise<Vault> {
  if (workspace !== undefined) {
    const { id } = await findWorkspace(tx, caller, workspace, 'share');
    await requireNoPreview(tx, id, 'secrets');
    return { workspace: id };
  }
  if (caller.workspaces === null) return { workspace: null };
  throw new Refusal(
    'forbidden',
    'your access is limited to some workspaces, and every workspace reads the account’s vault: name a workspace',
    {
      need: 'every workspace',
    },
  );
}
