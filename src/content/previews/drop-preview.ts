import { audit, findWorkspace } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import type { Caller } from '../../shared/roles.js';
import { type Erased, eraseWorkspaces } from '../workspaces/erase-workspaces.js';
import { findPreview, lockPreviews } from './find-preview.js';

/**
 * Deletes a branch's preview with all its data, in the caller's transaction, which deletes the branch's ref. Stops its
 * live runs, like a forced delete. Null when the branch has no preview. Call `clearErased` after the commit.
 */
export async function dropPreview(
  sql: Sql,
  caller: Caller,
  { workspace, branch }: { readonly workspace: string; readonly branch: string },
): Promise<(Erased & { readonly name: string }) | null> {
  const source = await findWorkspace(sql, caller, workspace, 'share');
  await lockPreviews(sql, source.id);
  const preview = await findPreview(sql, source.id, branch);
  if (!preview) return null;
  await sql.query('SELECT 1 FROM workspace WHERE id = $1 FOR UPDATE', [preview.id]);
  const erased = await eraseWorkspaces(sql, [preview.id]);
  await audit(sql, caller, 'preview.delete', preview.name, { of: source.name, branch });
  return { ...erased, name: preview.name };
}
