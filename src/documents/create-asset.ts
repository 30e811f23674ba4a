import type { Once } from '../accounts/index.js';
import type { Sql } from '../db/contract.js';
import type { Deps } from '../deps.js';
import { notFound, Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { findWorkspace, readLiveTree, visibleTree } from '../workspaces/index.js';
import { createFlow } from './create-flow.js';
import { type DocumentKind, documentText } from './document-texts.js';
import { PATTERNS, type Pattern } from './patterns.js';
import { createDocument, requireName } from './write-documents.js';

export interface CreateAssetInput {
  readonly workspace: string;
  readonly kind: DocumentKind;
  /** Of knowledge and memory a path with slashes, without `.md`. */
  readonly name: string;
  /** The agent whose own it is; for a flow, who does its steps. */
  readonly agent?: string | undefined;
  readonly template?: string | undefined;
  readonly description?: string | undefined;
  /** Of an eval; its first flow, else its first agent when left out. */
  readonly target?: string | undefined;
  readonly once?: Once | undefined;
}

export interface CreatedAsset {
  readonly ok: true;
  readonly kind: DocumentKind;
  readonly name: string;
  readonly path: string;
  readonly sha: string;
  readonly revision: string | null;
}

const FILES = {
  agent: (name) => `agents/${name}.md`,
  flow: (name) => `flows/${name}.md`,
  eval: (name) => `evals/${name}.md`,
  tool: (name) => `tools/${name}.md`,
  skill: (name) => `skills/${name}/SKILL.md`,
  knowledge: (name) => `knowledge/${name}.md`,
  memory: (name) => `memory/${name}.md`,
} as const satisfies Record<DocumentKind, (name: string) => string>;

const OWNED: readonly DocumentKind[] = ['tool', 'skill', 'knowledge', 'memory'];

/** A new document of a kind, from a template, as a commit of the caller's. Refuses what the deploy's checks refuse. */
export async function createAsset(deps: Deps, caller: Caller, input: CreateAssetInput): Promise<CreatedAsset> {
  const { workspace, kind, name } = input;
  for (const part of kind === 'knowledge' || kind === 'memory' ? name.split('/') : [name]) requireName(part);
  if (kind === 'flow') return createFlowAsset(deps, caller, input);
  const path = pathOf(input);
  const { agents, flows } = await readNames(deps.db, caller, workspace);
  if (input.agent !== undefined && !agents.includes(input.agent))
    throw new Refusal('refused', `agent: there is no agent ${input.agent} in this workspace`, { code: 'ref/agent' });
  const [flow, agent] = [flows[0], agents[0]];
  const target = input.target ?? (flow ? `flows/${flow}` : agent && `agents/${agent}`);
  if (kind === 'eval' && target === undefined)
    throw new Refusal('refused', 'target: there is no flow and no agent yet that an eval could be about');
  const last = name.split('/').at(-1) ?? name;
  const text = documentText(kind, input.template, { name: last, description: input.description, target });
  if (typeof text !== 'string') throw unknownTemplate(text);
  return createDocument(
    deps,
    caller,
    {
      workspace,
      action: `${kind}.create`,
      name: path,
      message: `Create ${path}`,
      files: () => new Map([[path, text]]),
      once: input.once,
    },
    (sql) => created(sql, caller, { workspace, kind, name, path }),
  );
}

async function createFlowAsset(deps: Deps, caller: Caller, input: CreateAssetInput): Promise<CreatedAsset> {
  const { workspace, name, agent, description, once } = input;
  const pattern = PATTERNS.find((one) => one === (input.template ?? 'blank')) as Pattern | undefined;
  if (pattern === undefined) throw unknownTemplate(PATTERNS);
  const path = FILES.flow(name);
  const answer = (sql: Sql) => created(sql, caller, { workspace, kind: 'flow', name, path });
  const keep = once && (async (sql: Sql) => once(sql, await answer(sql)));
  await createFlow(deps, caller, { workspace, name, pattern, agent, description, once: keep });
  return answer(deps.db);
}

function pathOf({ kind, name, agent }: CreateAssetInput): string {
  const path = FILES[kind](name);
  if (agent === undefined) return path;
  if (!OWNED.includes(kind)) {
    throw new Refusal('refused', `agent: a document of kind ${kind} is nobody’s own; leave it out`, {
      code: 'invalid',
    });
  }
  return `agents/${agent}/${path}`;
}

function unknownTemplate(names: readonly string[]): Refusal {
  return new Refusal('refused', `template: one of ${names.join(', ')}`, { code: 'invalid' });
}

async function readNames(sql: Sql, caller: Caller, workspace: string) {
  const { id } = await findWorkspace(sql, caller, workspace);
  const { index } = await readLiveTree(sql, id);
  return {
    agents: (index?.agents ?? []).map(({ name }) => name),
    flows: (index?.flows ?? []).map(({ name }) => name),
  };
}

async function created(
  sql: Sql,
  caller: Caller,
  made: Pick<CreatedAsset, 'kind' | 'name' | 'path'> & { readonly workspace: string },
): Promise<CreatedAsset> {
  const { workspace, kind, name, path } = made;
  const { id } = await findWorkspace(sql, caller, workspace);
  const live = await readLiveTree(sql, id);
  const file = visibleTree(live).get(path);
  if (!file) throw notFound('file');
  return { ok: true, kind, name, path, sha: file.sha, revision: live.revision };
}
