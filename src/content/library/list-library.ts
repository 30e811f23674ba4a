import type { LibraryListBody } from '../../contract/library.js';
import type { Deps } from '../../deps.js';
import { keyCursors, type PageInput } from '../../shared/cursor.js';
import type { Caller } from '../../shared/roles.js';
import { readLiveLibrary } from '../workspaces/library-tree.js';
import { type LibraryKind, nearerPaths } from './kinds.js';

const cursors = keyCursors('library');

/** The files of one kind, with the agents that use them and the copies that take precedence over them. */
export async function listLibrary(
  deps: Pick<Deps, 'db'>,
  caller: Caller,
  { kind, ...input }: PageInput & { readonly kind: LibraryKind },
): Promise<LibraryListBody> {
  const live = await readLiveLibrary(deps.db, caller.tenant);
  const entries = new Map((live.index?.entries ?? []).map((entry) => [entry.path, entry]));
  const all = [...live.source.keys()].filter((path) => path.startsWith(`${kind}/`));
  const { page: paths, next } = cursors.pageOfAll(all, input, (path) => path);
  const grants = await readGrants(deps, caller);
  const shadows = await readShadows(deps, caller, new Set(paths.flatMap(nearerPaths)));
  const items = paths.flatMap((path) => {
    const entry = live.source.get(path);
    if (!entry) return [];
    const near = new Set(nearerPaths(path));
    return {
      path,
      name: entries.get(path)?.name ?? path,
      description: entries.get(path)?.description ?? '',
      sha: entry.sha,
      size: entry.size,
      updatedAt: entry.at,
      grantedBy: grants
        .filter((grant) => grant.path === `library/${path}`)
        .map(({ workspace, agent }) => ({ workspace, agent })),
      shadowedIn: shadows
        .filter((copy) => near.has(copy.path.replace(OWN, '')))
        .map(({ workspace, path: nearer }) => ({ workspace, path: nearer })),
    };
  });
  return { items, next, revision: live.revision };
}

const OWN = /^agents\/[^/]+\//;

interface Grant {
  readonly workspace: string;
  readonly agent: string;
  readonly path: string;
}

/** The library files that each agent's plan refers to: tools and their programs, skills, pinned documents. */
function readGrants({ db }: Pick<Deps, 'db'>, { tenant, workspaces }: Caller): Promise<Grant[]> {
  return db.query<Grant>({
    name: 'library-grants',
    text: `
      WITH live AS (
        SELECT w.name AS workspace, substr(target.key, 8) AS agent, p.body->'agents'->substr(target.key, 8) AS plan
        FROM workspace w JOIN revision r ON r.workspace_id = w.id AND r.seq = w.live_seq
        CROSS JOIN LATERAL jsonb_each_text(plans_at(r.workspace_id, r.seq, library_of(w.tenant_id), r.plans)) AS target (key, id)
        JOIN plan p ON p.workspace_id = w.id AND p.id = target.id
        WHERE w.tenant_id = $1 AND ($2::text[] IS NULL OR w.name = ANY($2)) AND starts_with(target.key, 'agents/'))
      SELECT DISTINCT workspace, agent, named #>> '{}' AS path FROM live CROSS JOIN LATERAL (
        SELECT jsonb_path_query(plan, 'lax $.tools[*].path') AS named
        UNION ALL SELECT jsonb_path_query(plan, 'lax $.tools[*].program.path')
        UNION ALL SELECT jsonb_path_query(plan, 'lax $.skills[*].path')
        UNION ALL SELECT jsonb_path_query(plan, 'lax $.knowledge[*]')
      ) AS of_plan WHERE starts_with(named #>> '{}', 'library/') ORDER BY 1, 2, 3`,
    values: [tenant, workspaces],
  });
}

interface Copy {
  readonly workspace: string;
  readonly path: string;
}

function readShadows(
  { db }: Pick<Deps, 'db'>,
  { tenant, workspaces }: Caller,
  paths: ReadonlySet<string>,
): Promise<Copy[]> {
  return db.query<Copy>({
    name: 'library-shadows',
    text: `
      SELECT w.name AS workspace, f.path FROM workspace w
      JOIN revision r ON r.workspace_id = w.id AND r.seq = w.live_seq
      CROSS JOIN LATERAL (SELECT jsonb_object_keys(r.manifest) AS path
        UNION SELECT m.path FROM memory_file m WHERE m.workspace_id = w.id) AS f
      WHERE w.tenant_id = $1 AND ($2::text[] IS NULL OR w.name = ANY($2))
        AND regexp_replace(f.path, '^agents/[^/]+/', '') = ANY($3) ORDER BY 1, 2`,
    values: [tenant, workspaces, [...paths]],
  });
}
