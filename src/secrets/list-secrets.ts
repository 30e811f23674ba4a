import type { SecretList } from '../contract/secrets.js';
import type { Deps } from '../deps.js';
import { findWorkspace } from '../people/index.js';
import { cursorsOf, type PageInput } from '../shared/cursor.js';
import type { Caller } from '../shared/roles.js';
import type { SecretStatus, Shape } from './model.js';
import { type SecretUse, secretUses } from './used-by.js';

const cursors = cursorsOf('secrets', [/^\w{1,200}$/, /^[\w.-]{0,255}$/]);

interface Row {
  readonly name: string;
  readonly shape: Shape;
  readonly vault: string | null;
  readonly workspace: string | null;
  readonly status: SecretStatus;
  readonly updatedAt: Date;
}

/** The stored names, never a value, of the account and of every workspace that the caller can see. */
export async function listSecrets(
  deps: Deps,
  caller: Caller,
  { workspace, limit, cursor }: PageInput & { readonly workspace?: string | undefined },
): Promise<SecretList> {
  const only = workspace === undefined ? null : (await findWorkspace(deps.db, caller, workspace)).id;
  const [rows, uses] = await Promise.all([readRows(deps, caller), secretUses(deps.db, caller)]);
  const own = new Set(rows.map(({ vault, name }) => `${vault ?? ''}/${name}`));
  const place = placeOf(cursors.read(cursor));
  const shown = rows.filter((row) => (only === null || row.vault === only) && isAfter(row, place));
  const { page, next } = cursors.page(shown.slice(0, limit + 1), limit, (row) => [row.name, row.workspace ?? '']);
  return {
    secrets: page.map(({ vault, updatedAt, ...row }) => ({
      ...row,
      updatedAt: updatedAt.toISOString(),
      usedBy: uses
        .filter((use) => gets(use, { vault, name: row.name }, own))
        .map(({ workspace: ws, path }) => ({ workspace: ws, path })),
    })),
    next,
  };
}

type Place = Pick<Row, 'name' | 'workspace'>;

function placeOf(place: readonly string[] | null): Place | null {
  const [name = '', workspace = ''] = place ?? [];
  return place && { name, workspace: workspace === '' ? null : workspace };
}

/** In the order of the list: by name, the account's before those of workspaces. */
function isAfter(row: Place, place: Place | null): boolean {
  if (place === null || row.name > place.name) return true;
  return row.name === place.name && row.workspace !== null && row.workspace > (place.workspace ?? '');
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
      ORDER BY s.name COLLATE "C", w.name COLLATE "C" NULLS FIRST`,
    values: [tenant, workspaces],
  });
}
