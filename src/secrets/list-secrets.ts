import type { SecretList } from '../contract/secrets.js';
import type { Deps } from '../deps.js';
import type { Caller } from '../shared/roles.js';
import { findWorkspace } from '../workspaces/index.js';
import type { SecretStatus, Shape } from './model.js';
import { type SecretUse, secretUses } from './used-by.js';

interface Row {
  readonly name: string;
  readonly shape: Shape;
  readonly vault: string | null;
  readonly workspace: string | null;
  readonly status: SecretStatus;
  readonly updatedAt: Date;
}

/** The names of what is stored, by name, and never a value: of the account and of every workspace that the caller sees. */
export async function listSecrets(
  deps: Deps,
  caller: Caller,
  { workspace }: { readonly workspace?: string | undefined },
): Promise<SecretList> {
  const only = workspace === undefined ? null : (await findWorkspace(deps.db, caller, workspace)).id;
  const [rows, uses] = await Promise.all([readRows(deps, caller), secretUses(deps.db, caller)]);
  const own = new Set(rows.map(({ vault, name }) => `${vault ?? ''}/${name}`));
  const shown = rows.filter(({ vault }) => only === null || vault === only);
  return {
    secrets: shown.map(({ vault, updatedAt, ...row }) => ({
      ...row,
      updatedAt: updatedAt.toISOString(),
      usedBy: uses
        .filter((use) => gets(use, { vault, name: row.name }, own))
        .map(({ workspace: ws, path }) => ({ workspace: ws, path })),
    })),
  };
}

/** True when what the file names is this secret: the nearest of its name. */
function gets(use: SecretUse, { vault, name }: Pick<Row, 'vault' | 'name'>, own: ReadonlySet<string>): boolean {
  if (use.secret !== name) return false;
  return vault === null ? !own.has(`${use.vault}/${name}`) : use.vault === vault;
}

function readRows(deps: Deps, { tenant, workspaces }: Caller): Promise<Row[]> {
  return deps.db.query<Row>({
    name: 'secrets-list',
    text: `SELECT s.name, s.shape, s.workspace_id AS vault, w.name AS workspace, s.status, s.updated_at AS "updatedAt"
      FROM secret s LEFT JOIN workspace w ON w.id = s.workspace_id
      WHERE s.tenant_id = $1 AND (s.workspace_id IS NULL OR $2::text[] IS NULL OR w.name = ANY($2))
      ORDER BY s.name, w.name NULLS FIRST`,
    values: [tenant, workspaces],
  });
}
