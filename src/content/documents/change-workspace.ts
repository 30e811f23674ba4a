import type { ChangedWorkspaceBody } from '../../contract/workspaces.js';
import type { Deps } from '../../deps.js';
import { audit, findWorkspace, requireNoPreview } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { isUniqueViolation } from '../../platform/db/index.js';
import type { Json } from '../../shared/json.js';
import { Refusal } from '../../shared/refusal.js';
import { atLeast, type Caller } from '../../shared/roles.js';
import { textBytes } from '../../shared/text-bytes.js';
import { editTree } from '../deploys/edit-source.js';
import { checkWorkspaceName } from '../workspaces/create-workspace.js';
import { freePreviewName } from '../workspaces/preview-name.js';
import { readWorkspace } from '../workspaces/read-workspace.js';

export interface ChangeWorkspaceInput {
  readonly workspace: string;
  readonly name?: string | undefined;
  /** Keys of its AGENTS.md; null clears one. */
  readonly keys: Readonly<Record<string, Json>>;
}

const FILE = 'AGENTS.md';

/**
 * Sets keys of a workspace's AGENTS.md in place, as a commit of the caller, and renames the workspace: both or neither.
 * All other bytes of the file stay.
 */
export async function changeWorkspace(
  deps: Deps,
  caller: Caller,
  { workspace, name, keys }: ChangeWorkspaceInput,
): Promise<ChangedWorkspaceBody> {
  // Look the workspace up first: a request without changes writes nothing, and so would not find that it is missing.
  await findWorkspace(deps.db, caller, workspace);
  const to = name === undefined || name === workspace ? null : name;
  if (to !== null && !atLeast(caller.role, 'admin'))
    throw new Refusal('forbidden', 'needs role admin to rename a workspace', { need: 'admin' });
  if (to !== null) checkWorkspaceName(to);
  if (name === undefined && Object.keys(keys).length === 0)
    throw new Refusal('refused', 'the body is empty: give name, description, timezone, budget or notify');
  let renamed = false;
  const rename = async (sql: Sql) => {
    if (to === null) return;
    await renameWorkspace(sql, caller, { from: workspace, to });
    renamed = true;
  };
  try {
    if (Object.keys(keys).length > 0) await setDefaults(deps, caller, { workspace, keys, inTransaction: rename });
    // No key had to be written.
    if (!renamed && to !== null) await deps.db.transaction(rename);
  } catch (error) {
    if (isUniqueViolation(error)) throw nameTaken(to ?? '');
    throw error;
  }
  const now = to ?? workspace;
  const read = await readWorkspace(deps, { tenant: caller.tenant, workspaces: [now] }, { workspace: now });
  if (to === null) return read;
  const note = `every path of it is now under ${to}: hooks and git remotes of ${workspace} no longer work`;
  return { ...read, renamed: { from: workspace, note } };
}

async function setDefaults(
  deps: Deps,
  caller: Caller,
  { workspace, keys, inTransaction }: ChangeWorkspaceInput & { readonly inTransaction: (sql: Sql) => Promise<void> },
): Promise<void> {
  await editTree(deps, caller, {
    workspace,
    message: `Set ${Object.keys(keys).join(', ')}`,
    edit: async ({ read }) => {
      const edited = await deps.checker.work('set-keys', { text: (await read(FILE)) ?? '', keys });
      if (!edited.ok) throw new Refusal('refused', `${FILE}: ${edited.reason}`);
      return { remove: [], put: new Map([[FILE, textBytes(edited.text)]]) };
    },
    inTransaction: async (sql) => {
      await audit(sql, caller, 'workspace.change', workspace, keys);
      await inTransaction(sql);
    },
  });
}

/** Renames the workspace with its previews, and in the scopes of members and invites. */
async function renameWorkspace(
  sql: Sql,
  caller: Caller,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  const { id } = await findWorkspace(sql, caller, from, 'update');
  await requireNoPreview(sql, id, 'name');
  const taking = await sql.query('SELECT 1 FROM workspace WHERE tenant_id = $1 AND name = $2', [caller.tenant, to]);
  if (taking.length > 0) throw nameTaken(to);
  const previews = await sql.query<{ id: string; name: string; branch: string }>(
    'SELECT id, name, preview_branch AS branch FROM workspace WHERE preview_of = $1 ORDER BY id FOR UPDATE',
    [id],
  );
  for (const move of [{ id, name: from, branch: null }, ...previews]) {
    const { branch } = move;
    const at = { tenant: caller.tenant, workspace: to, id: move.id };
    const name = branch === null ? to : await freePreviewName(sql, { ...at, branch });
    await sql.query('UPDATE workspace SET name = $2, named_at = now(), updated_at = now() WHERE id = $1', [
      move.id,
      name,
    ]);
    // Invites first: this waits for an invite that is being accepted, whose member is then visible to the second update.
    for (const table of ['invite', 'member']) {
      await sql.query(
        `UPDATE ${table} SET workspaces = array_replace(workspaces, $2, $3) WHERE tenant_id = $1 AND $2 = ANY(workspaces)`,
        [caller.tenant, move.name, name],
      );
    }
  }
  await audit(sql, caller, 'workspace.rename', to, { from });
}

function nameTaken(name: string): Refusal {
  return new Refusal('conflict', `there is a workspace ${name} already; choose another name`);
}
