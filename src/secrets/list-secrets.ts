import type { SecretList } from '../contract/secrets.js';
import type { Deps } from '../deps.js';
import { findWorkspace } from '../people/index.js';
import type { Sql, TableRow } from '../platform/db/contract.js';
import { cursorsOf, type PageInput } from '../shared/cursor.js';
import type { Caller } from '../shared/roles.js';
import type { SecretStatus, Shape } from './model.js';

/**
 * SQL: the files that name secrets: agents in `secrets:`, tools in placeholders, flows in their own list, their steps'
 * and their signature's.
 */
const USES = `
  WITH live AS (
    SELECT w.name, coalesce(w.preview_of, w.id) AS vault, p.body, 'flows/' || (p.body->>'flow') || '.md' AS flow
    FROM workspace w
    JOIN revision r ON r.workspace_id = w.id AND r.seq = w.live_seq
    CROSS JOIN LATERAL jsonb_each_text(plans_at(r.workspace_id, r.seq, library_of(w.tenant_id), r.plans)) AS target (key, plan)
    JOIN plan p ON p.workspace_id = w.id AND p.id = target.plan
    WHERE w.tenant_id = $1 AND ($2::text[] IS NULL OR w.name = ANY($2)))
  SELECT DISTINCT use.secret, live.vault, live.name AS workspace, use.path FROM live CROSS JOIN LATERAL (
    SELECT agent.value->>'path' AS path, secret FROM jsonb_each(body->'agents') AS agent,
      jsonb_array_elements_text(agent.value->'secrets') AS secret
    UNION SELECT tool->>'path', secret FROM jsonb_each(body->'agents') AS agent,
      jsonb_array_elements(agent.value->'tools') AS tool, jsonb_array_elements_text(tool->'secrets') AS secret
    UNION SELECT flow, named #>> '{}' FROM jsonb_path_query(body, 'lax $.secrets[*]') AS named
    UNION SELECT flow, named #>> '{}' FROM jsonb_path_query(body, 'lax $.nodes[*].secrets[*]') AS named
    UNION SELECT flow, named #>> '{}' FROM jsonb_path_query(body, 'lax $.nodes[*].branches[*].secrets[*]') AS named
    UNION SELECT flow, body->'trigger'->>'signing_secret' WHERE body->'trigger' ? 'signing_secret'
  ) AS use ORDER BY 3, 4, 1`;

const cursors = cursorsOf('secrets', [/^\w{1,200}$/, /^[\w.-]{0,255}$/]);

interface Row extends Pick<TableRow<'Secret'>, 'name' | 'updatedAt'> {
  readonly shape: Shape;
  readonly vault: string | null;
  readonly workspace: string | null;
  readonly status: SecretStatus;
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

/**
 * Whether the row comes after this place. The list is ordered by name, the account's secret before those of workspaces.
 */
function isAfter(row: Place, place: Place | null): boolean {
  if (place === null || row.name > place.name) return true;
  return row.name === place.name && row.workspace !== null && row.workspace > (place.workspace ?? '');
}

/** True when the name in the file means this secret, the nearest of its name. */
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

/** A live revision's file that names a secret. */
interface SecretUse {
  readonly secret: string;
  /** The workspace whose vault it reads first; for a preview, the workspace that it previews. */
  readonly vault: string;
  readonly workspace: string;
  readonly path: string;
}

/** The files that name secrets in the live revisions of the workspaces that the caller sees. */
function secretUses(sql: Sql, { tenant, workspaces }: Pick<Caller, 'tenant' | 'workspaces'>): Promise<SecretUse[]> {
  return sql.query<SecretUse>({ name: 'secret-uses', text: USES, values: [tenant, workspaces] });
}
