import type { CreatedAgentBody } from '../../contract/flows.js';
import type { CreatedAssetBody } from '../../contract/workspaces.js';
import type { Deps } from '../../deps.js';
import { findWorkspace, type RecordAnswer } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { encodeContent } from '../../shared/file-content.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { readSourceFile } from '../deploys/read-source.js';
import { readLiveTree } from '../workspaces/live-tree.js';
import { readAgent } from './list-documents.js';
import { PATTERNS, type Pattern } from './patterns.js';
import { createDocument, createFlow, type DocumentKind, documentText, requireName } from './write-documents.js';

export interface CreateAssetInput {
  readonly workspace: string;
  readonly kind: DocumentKind;
  /** For knowledge and memory, a path with slashes, without `.md`. */
  readonly name: string;
  /** The agent that owns the document; for a flow, the agent of its steps. */
  readonly agent?: string | undefined;
  readonly template?: string | undefined;
  readonly description?: string | undefined;
  /** The target of an eval; the first flow, else the first agent, when left out. */
  readonly target?: string | undefined;
  readonly recordAnswer?: RecordAnswer | undefined;
}

type Extend<T extends CreatedAssetBody> = (sql: Sql, asset: CreatedAssetBody) => Promise<T>;

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

/** Creates a document from a template, as a commit of the caller. Refuses what the deploy's checks refuse. */
export function createAsset(deps: Deps, caller: Caller, input: CreateAssetInput): Promise<CreatedAssetBody> {
  return create(deps, caller, { ...input, extend: async (_sql, asset) => asset });
}

/** A new agent, as the list of agents shows it. */
export function createAgent(
  deps: Deps,
  caller: Caller,
  input: Omit<CreateAssetInput, 'kind'>,
): Promise<CreatedAgentBody> {
  const { workspace, name } = input;
  const extend: Extend<CreatedAgentBody> = async (sql, asset) => ({
    ...asset,
    ...(await readAgent(sql, caller, { workspace, name })),
  });
  return create(deps, caller, { ...input, kind: 'agent', extend });
}

async function create<T extends CreatedAssetBody>(
  deps: Deps,
  caller: Caller,
  { extend, ...input }: CreateAssetInput & { readonly extend: Extend<T> },
): Promise<T> {
  const { workspace, kind, name } = input;
  for (const part of kind === 'knowledge' || kind === 'memory' ? name.split('/') : [name]) requireName(part);
  if (kind === 'flow') return extend(deps.db, await createFlowAsset(deps, caller, input));
  const path = pathOf(input);
  const { agents, flows } = await readNames(deps.db, caller, workspace);
  if (input.agent !== undefined && !agents.includes(input.agent))
    throw new Refusal('refused', `agent: ${input.agent} does not exist in this workspace`, { code: 'ref/agent' });
  const [flow, agent] = [flows[0], agents[0]];
  const target = input.target ?? (flow ? `flows/${flow}` : agent && `agents/${agent}`);
  if (kind === 'eval' && target === undefined)
    throw new Refusal('refused', 'target: the workspace has no flow and no agent to evaluate; create one first');
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
      recordAnswer: input.recordAnswer,
    },
    async (sql) => extend(sql, await created(sql, caller, { workspace, kind, name, path })),
  );
}

async function createFlowAsset(deps: Deps, caller: Caller, input: CreateAssetInput): Promise<CreatedAssetBody> {
  const { workspace, name, agent, description, recordAnswer } = input;
  const pattern = PATTERNS.find((one) => one === (input.template ?? 'blank')) as Pattern | undefined;
  if (pattern === undefined) throw unknownTemplate(PATTERNS);
  const path = FILES.flow(name);
  const answer = (sql: Sql) => created(sql, caller, { workspace, kind: 'flow', name, path });
  const keep = recordAnswer && (async (sql: Sql) => recordAnswer(sql, await answer(sql)));
  await createFlow(deps, caller, { workspace, name, pattern, agent, description, recordAnswer: keep });
  return answer(deps.db);
}

function pathOf({ kind, name, agent }: CreateAssetInput): string {
  const path = FILES[kind](name);
  if (agent === undefined) return path;
  if (!OWNED.includes(kind)) {
    throw new Refusal('refused', `agent: a document of kind ${kind} cannot belong to an agent; leave it out`, {
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
  made: Pick<CreatedAssetBody, 'kind' | 'name' | 'path'> & { readonly workspace: string },
): Promise<CreatedAssetBody> {
  const { workspace, kind, name, path } = made;
  const { content, ...file } = await readSourceFile({ db: sql }, caller, { workspace, path });
  return { ok: true, ...file, ...encodeContent(content), kind, name };
}
