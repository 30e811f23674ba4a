import type { WorkspaceBody, WorkspaceList } from '../../contract/workspaces.js';
import type { Deps } from '../../deps.js';
import { avatarPath } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { keyCursors, type PageInput } from '../../shared/cursor.js';
import type { Json } from '../../shared/json.js';
import { notFound } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';

interface Row extends Pick<WorkspaceBody, 'name' | 'timezone' | 'budget' | 'revision'> {
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly description: string | null;
  readonly notify: Json | null;
  readonly counts: WorkspaceBody['counts'] | null;
  readonly of: string | null;
  readonly branch: string | null;
  readonly live: bigint;
  readonly waits: string | null;
  readonly reason: string | null;
  readonly picture: string | null;
}

const COLUMNS = `
  w.name, w.created_at AS "createdAt", w.updated_at AS "updatedAt", r.id AS revision,
  r.index->>'description' AS description, r.index->>'timezone' AS timezone,
  (r.index->>'budgetUsd')::float8 AS budget, r.index->'notify' AS notify, r.index->'counts' AS counts,
  o.name AS of, p.oid AS waits, p.reason, w.preview_branch AS branch,
  (SELECT count(*) FROM run WHERE run.workspace_id = w.id AND run.finished_at IS NULL
    AND run.mode = 'normal' AND run.parent_id IS NULL) AS live,
  (SELECT a.sha FROM avatar a WHERE a.tenant_id = w.tenant_id AND a.kind = 'workspace' AND a.id = w.id) AS picture
  FROM workspace w
  LEFT JOIN revision r ON r.workspace_id = w.id AND r.seq = w.live_seq
  LEFT JOIN workspace o ON o.id = w.preview_of
  LEFT JOIN pending_push p ON p.workspace_id = w.id`;

const cursors = keyCursors('workspaces');

/** The workspaces in the caller's reach, by name. */
export async function listWorkspaces(
  deps: Pick<Deps, 'db'>,
  caller: Caller,
  { limit, cursor }: PageInput,
): Promise<WorkspaceList> {
  const rows = await deps.db.query<Row>({
    name: 'list-workspaces',
    text: `SELECT ${COLUMNS} WHERE w.tenant_id = $1 AND ($2::text[] IS NULL OR w.name = ANY($2))
      AND ($3::text IS NULL OR w.name COLLATE "C" > $3) ORDER BY w.name COLLATE "C" LIMIT $4`,
    values: [caller.tenant, caller.workspaces, cursors.read(cursor), limit + 1],
  });
  const { page, next } = cursors.page(rows, limit, ({ name }) => name);
  return { workspaces: page.map(toBody), next };
}

/** One workspace. Refuses `not_found` alike for another account's, a missing one and one outside the caller's scope. */
export async function readWorkspace(
  deps: { readonly db: Sql },
  caller: Pick<Caller, 'tenant' | 'workspaces'>,
  { workspace }: { readonly workspace: string },
): Promise<WorkspaceBody> {
  if (caller.workspaces !== null && !caller.workspaces.includes(workspace)) throw notFound('workspace');
  const [row] = await deps.db.query<Row>({
    name: 'read-workspace',
    text: `SELECT ${COLUMNS} WHERE w.tenant_id = $1 AND w.name = $2`,
    values: [caller.tenant, workspace],
  });
  if (!row) throw notFound('workspace');
  return toBody(row);
}

const NO_COUNTS = { agents: 0, flows: 0, evals: 0, tools: 0, skills: 0 };

function toBody(row: Row): WorkspaceBody {
  const { name, timezone, budget, revision, of, waits } = row;
  return {
    name,
    description: row.description ?? '',
    timezone,
    budget,
    notify: row.notify ?? null,
    revision,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
    preview: of === null ? null : { of, branch: row.branch ?? '' },
    pending: waits === null ? null : { revision: waits, reason: row.reason ?? '' },
    counts: row.counts ?? NO_COUNTS,
    live: Number(row.live),
    avatar: avatarPath('workspace', name, row.picture),
  };
}
