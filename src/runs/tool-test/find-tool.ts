import {
  type EditedTree,
  editedTree,
  filesWith,
  type InReach,
  prepareTree,
  readInReach,
  readLiveLibrary,
  readLiveTree,
} from '../../content/index.js';
import type { Deps } from '../../deps.js';
import type { ToolTestSpec } from '../../engine/index.js';
import type { Plan } from '../../format/index.js';
import { findWorkspace, type WorkspaceRow } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { isName, newId } from '../../shared/ids.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';

export type FoundTool = Pick<ToolTestSpec, 'revision' | 'librarySeq' | 'plan' | 'agent'>;

/** A path that names the tool's file, when the name alone is ambiguous. */
export function isFile(path: string): boolean {
  return path.includes('/') && path.endsWith('.md');
}

/**
 * The tool with an agent that calls it: the first agent that has it or, when no agent has it, a temporary agent for the
 * test. Refuses `not_found` for an unknown tool.
 */
export async function findTool(
  deps: Deps,
  caller: Caller,
  at: { readonly workspace: WorkspaceRow; readonly tool: string; readonly file: string | null },
): Promise<FoundTool> {
  const granted = await findGranted(deps.db, at);
  return granted ?? (await grantForTest(deps, caller, at));
}

/** Refuses a tool as missing when no agent has it and no file defines it. */
export async function requireTool(deps: Deps, caller: Caller, name: string, tool: string): Promise<void> {
  const workspace = await findWorkspace(deps.db, caller, name);
  if (!isName(tool) && !/^[\w.-]{1,255}$/.test(tool)) throw notFound('tool');
  if (await findGranted(deps.db, { workspace, tool, file: null })) return;
  const { source } = await readLiveTree(deps.db, workspace.id);
  const library = await readLiveLibrary(deps.db, caller.tenant);
  const toolFile = new RegExp(`^(agents/[^/]+/)?tools/${tool.replaceAll('.', '\\.')}(\\.md|/tool\\.md)$`);
  if (![...source.keys(), ...library.source.keys()].some((path) => toolFile.test(path))) throw notFound('tool');
}

interface At {
  readonly workspace: WorkspaceRow;
  readonly tool: string;
  readonly file: string | null;
}

async function findGranted(sql: Sql, { workspace, tool, file }: At): Promise<FoundTool | null> {
  const rows = await sql.query<{ revision: string; librarySeq: number; agent: string; plan: Plan }>({
    name: 'tool-granted',
    text: `SELECT r.id AS revision, l.seq AS "librarySeq", substr(t.target, 8) AS agent, p.body AS plan
      FROM revision r CROSS JOIN library_of($5) l (seq)
        CROSS JOIN LATERAL jsonb_each_text(plans_at(r.workspace_id, r.seq, l.seq, r.plans)) t (target, plan_id)
        JOIN plan p ON p.workspace_id = $1 AND p.id = t.plan_id
      WHERE r.workspace_id = $1 AND r.seq = $2 AND t.target LIKE 'agents/%'
        AND EXISTS (SELECT 1 FROM jsonb_array_elements(p.body->'agents'->substr(t.target, 8)->'tools') one
          WHERE one->>'name' = $3 AND ($4::text IS NULL OR one->>'path' = $4))
      ORDER BY t.target COLLATE "C" LIMIT 1`,
    values: [workspace.id, workspace.liveSeq, tool, file, workspace.tenantId],
  });
  return rows[0] ?? null;
}

async function grantForTest(deps: Deps, caller: Caller, at: At): Promise<FoundTool> {
  const { workspace, tool, file } = at;
  if (!isName(tool)) throw notFound('tool');
  const live = await readLiveTree(deps.db, workspace.id);
  const reach = await readInReach(deps.db, caller.tenant, workspace.id);
  const { agent, path, text } = await agentFor(deps, at, withShared(editedTree(deps.db, workspace.id, live), reach));
  const put = new Map([[path, new TextEncoder().encode(text)]]);
  const files = await filesWith(deps.db, workspace.id, live, { remove: [], put });
  const { workspace: checked } = await prepareTree(deps, files, reach);
  const plan = checked?.plans[`agents/${agent}`];
  const isThere = plan?.agents[agent]?.tools.some((one) => one.name === tool && (file === null || one.path === file));
  if (!plan || !isThere) throw notFound('tool');
  return { revision: live.revision ?? '', librarySeq: reach.library.seq, plan, agent };
}

interface Sources {
  readonly has: (path: string) => boolean;
  readonly read: (path: string) => Promise<string | null>;
}

/** The workspace's files on top of the library's. */
function withShared({ tree, read }: EditedTree, { library }: InReach): Sources {
  const shared = new Map(library.files.map(({ path, content }) => [path, content]));
  return {
    has: (path) => tree.has(path) || shared.has(path),
    read: async (path) => (await read(path)) ?? (shared.has(path) ? new TextDecoder().decode(shared.get(path)) : null),
  };
}

/** The file of an agent that has this tool and the secrets that the tool's own file names. */
async function agentFor(
  deps: Deps,
  { tool, file }: At,
  { has, read }: Sources,
): Promise<{ readonly agent: string; readonly path: string; readonly text: string }> {
  const toolPath = (file === null ? [`tools/${tool}.md`, `tools/${tool}/tool.md`] : [file]).find((one) => has(one));
  const text = toolPath === undefined ? '' : ((await read(toolPath)) ?? '');
  const secrets = [...new Set([...text.matchAll(/\$\{([A-Za-z_]\w*)\}/g)].map(([, name]) => name ?? ''))];
  const owner = file === null ? undefined : /^agents\/([^/]+)\/tools\//.exec(file)?.[1];
  const agent = owner ?? `tool-test-${newId().slice(-8)}`;
  const own = [`agents/${agent}.md`, `agents/${agent}/agent.md`].find((one) => has(one));
  const edited = await deps.checker.work('set-keys', {
    text: own === undefined ? '' : ((await read(own)) ?? ''),
    keys: { ...(own === undefined ? { description: 'Tries a tool.' } : {}), tools: [tool], secrets },
  });
  if (!edited.ok) throw new Refusal('refused', `${own}: ${edited.reason}`);
  return { agent, path: own ?? `agents/${agent}.md`, text: edited.text };
}
