import type { Sql, TableRow } from '../platform/db/contract.js';
import { notFound, Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';

export type WorkspaceRow = Pick<TableRow<'Workspace'>, 'id' | 'tenantId' | 'name' | 'liveSeq'>;

const COLUMNS = 'id, tenant_id AS "tenantId", name, live_seq AS "liveSeq"';

const LOCKS = { none: '', share: ' FOR SHARE', update: ' FOR UPDATE' } as const;

/**
 * The caller's workspace of this name. Refuses `not_found` alike for another account's workspace, a missing one and one
 * outside the caller's scope. Deploys and deletes lock it `update`, starting a run locks it `share`.
 */
export async function findWorkspace(
  sql: Sql,
  caller: Pick<Caller, 'tenant' | 'workspaces'>,
  name: string,
  lock: keyof typeof LOCKS = 'none',
): Promise<WorkspaceRow> {
  if (caller.workspaces !== null && !caller.workspaces.includes(name)) throw notFound('workspace');
  const [row] = await sql.query<WorkspaceRow>({
    name: `find-workspace-${lock}`,
    text: `SELECT ${COLUMNS} FROM workspace WHERE tenant_id = $1 AND name = $2${LOCKS[lock]}`,
    values: [caller.tenant, name],
  });
  if (!row) throw notFound('workspace');
  return row;
}

/** The workspace with this id under its current name, with the lock of a start; null when it was deleted. */
export async function lockWorkspace(sql: Sql, id: string): Promise<WorkspaceRow | null> {
  const [row] = await sql.query<WorkspaceRow>({
    name: 'lock-workspace',
    text: `SELECT ${COLUMNS} FROM workspace WHERE id = $1 FOR SHARE`,
    values: [id],
  });
  return row ?? null;
}

/** What cannot be changed in a preview, and what to do instead. */
const INSTEAD = {
  files: ({ of, branch }: Preview) => `its files are those of the branch ${branch} of ${of}: push to that branch`,
  name: ({ branch, of }: Preview) => `it has the name of the branch ${branch} of ${of}: rename that`,
  itself: ({ of, branch }: Preview) => `it goes with the branch ${branch} of ${of}: delete that branch`,
  secrets: ({ of }: Preview) => `it reads the secrets of ${of}: name that workspace`,
  mirror: ({ of }: Preview) => `it is a branch of ${of}: mirror that workspace`,
  keys: ({ of }: Preview) => `its files are those of a branch of ${of}: a deploy key is for that workspace`,
} as const;

interface Preview {
  readonly of: string;
  readonly branch: string;
}

/** The workspace and the branch that a preview shows; null for any other workspace. */
export async function readPreview(sql: Sql, workspaceId: string): Promise<Preview | null> {
  const [row] = await sql.query<Preview>({
    name: 'read-preview',
    text: `SELECT o.name AS of, w.preview_branch AS branch FROM workspace w JOIN workspace o ON o.id = w.preview_of
      WHERE w.id = $1`,
    values: [workspaceId],
  });
  return row ?? null;
}

/** Refuses `conflict` for a preview, whose content comes from its branch and its source workspace. */
export async function requireNoPreview(sql: Sql, workspaceId: string, what: keyof typeof INSTEAD): Promise<void> {
  const preview = await readPreview(sql, workspaceId);
  if (preview) throw new Refusal('conflict', `this is a preview, and ${INSTEAD[what](preview)}`, { code: 'preview' });
}
