import type { Sql } from '../platform/db/contract.js';
import { notFound } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';

export interface WorkspaceRow {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly liveSeq: number;
}

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
