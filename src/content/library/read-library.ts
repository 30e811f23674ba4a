import type { LibraryFileBody, LibraryListBody } from '../../contract/library.js';
import type { Deps } from '../../deps.js';
import type { Sql } from '../../platform/db/contract.js';
import { keyCursors, type PageInput } from '../../shared/cursor.js';
import { isName } from '../../shared/ids.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { listChangesOf, readChangeOf } from '../deploys/changes.js';
import { requirePath } from '../deploys/require-path.js';
import { libraryId, readLiveLibrary } from '../workspaces/library-tree.js';
import { readBlobs } from '../workspaces/live-tree.js';

/** The folders of a library. */
export const LIBRARY_KINDS = ['tools', 'skills', 'knowledge', 'memory', 'scripts'] as const;

/** Where a new document of this name is. */
const FILE_OF = {
  tools: (name) => `tools/${name}.md`,
  skills: (name) => `skills/${name}/SKILL.md`,
  knowledge: (name) => `knowledge/${name}.md`,
  memory: (name) => `memory/${name}.md`,
  scripts: (name) => `scripts/${name}`,
} as const satisfies Record<LibraryKind, (name: string) => string>;

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

/** A file of the library with its bytes; the answer has them as text or base64. */
export type LibraryFile = Omit<LibraryFileBody, 'content' | 'contentBase64'> & { readonly content: Uint8Array };

export async function readLibraryFile(
  deps: { readonly db: Sql },
  caller: Pick<Caller, 'tenant'>,
  { kind, path: given }: { readonly kind: LibraryKind; readonly path: string },
): Promise<LibraryFile> {
  const path = pathIn(kind, given);
  const live = await readLiveLibrary(deps.db, caller.tenant);
  const entry = live.source.get(path);
  if (!entry) throw notFound('file');
  const { sha, size, by, at } = entry;
  const content = (await readBlobs(deps.db, live.id, [sha])).get(sha) ?? new Uint8Array();
  const issues = (live.index?.warnings ?? []).filter((issue) => issue.path === path);
  return { path, sha, size, writtenBy: by, updatedAt: at, content, issues, revision: live.revision };
}

/** The history of the library, newest first. */
export function listLibraryChanges(
  deps: Deps,
  caller: Caller,
  input: { readonly path?: string | undefined; readonly limit: number; readonly cursor?: string | undefined },
) {
  return listChangesOf(deps, libraryId(caller.tenant), input);
}

/** One change of the library with its files. */
export function readLibraryChange(
  deps: Deps,
  caller: Caller,
  input: { readonly id: string; readonly path?: string | undefined },
) {
  return readChangeOf(deps, libraryId(caller.tenant), input);
}

export type LibraryKind = (typeof LIBRARY_KINDS)[number];

/** The path in the library, as lists have it; `crm.md` of kind `tools` is `tools/crm.md`. Refuses one that is not canonical. */
export function pathIn(kind: LibraryKind, given: string): string {
  const path = given.startsWith(`${kind}/`) ? given : `${kind}/${given}`;
  requirePath(path);
  return path;
}

/** Refuses a name that the format does not allow. A script's name includes its extension. */
export function fileOf(kind: LibraryKind, name: string): string {
  const [stem = '', ...ending] = kind === 'scripts' ? name.split('.') : [name];
  if (!isName(stem) || ending.some((part) => !/^[a-z0-9]{1,16}$/.test(part))) {
    throw new Refusal(
      'refused',
      'name: use lower-case words and digits joined by single hyphens, 64 characters at most; or give a path',
      { code: 'library/bad-name' },
    );
  }
  return FILE_OF[kind](name);
}

/** The paths whose files take precedence over this one, in the workspace or below `agents/<agent>/`. */
function nearerPaths(path: string): readonly string[] {
  const [, tool] = /^tools\/([^/]+?)(?:\.md|\/tool\.md)$/.exec(path) ?? [];
  if (tool !== undefined) return [`tools/${tool}.md`, `tools/${tool}/tool.md`];
  if (/^skills\/[^/]+\/SKILL\.md$/.test(path)) return [path, `.agents/${path}`];
  return /^(?:knowledge|memory)\//.test(path) ? [path] : [];
}
