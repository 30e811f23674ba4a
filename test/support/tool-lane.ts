import { onTestFinished } from 'vitest';
import type { Deps } from '../../src/deps.js';
import type { AgentPlan, Plan, ScriptToolPlan, StepPlan } from '../../src/format/model.js';
import { blobId } from '../../src/git/index.js';
import type { Net } from '../../src/platform/net/index.js';
import { createBlobStore } from '../../src/platform/storage/index.js';
import { newId } from '../../src/shared/ids.js';
import type { Json, JsonObject } from '../../src/shared/json.js';
import {
  assembleTools,
  type CallContext,
  createLaneServers,
  keepStep,
  openLane,
  type ToolContext,
  type ToolOutcome,
} from '../../src/tools/index.js';
import { createTenant, createTestDeps } from './create-test-app.js';
import { directChecker } from './direct-checker.js';
import { givenSecrets } from './given-secrets.js';
import { createTestSandbox } from './test-sandbox.js';
import { insertWorkspace } from './workspace-row.js';

export interface ToolLane {
  readonly deps: Deps;
  readonly context: ToolContext;
  /** Calls a tool as the engine does: what it has seen of memory is remembered. */
  call(tool: string, args: JsonObject, change?: Partial<CallContext>): Promise<ToolOutcome>;
  /** The text of a call that must go well. */
  ok(tool: string, args: JsonObject, change?: Partial<CallContext>): Promise<string>;
  /** The text of a call that must fail. */
  fails(tool: string, args: JsonObject, change?: Partial<CallContext>): Promise<string>;
  keep(change?: Partial<ToolContext>): ReturnType<typeof keepStep>;
  /** The same run in another lane, or with another agent, on the same host. */
  other(change: {
    readonly lane?: string;
    readonly agent?: AgentPlan;
    readonly mode?: string;
    readonly run?: string;
  }): Promise<ToolLane>;
}

export interface ToolLaneOptions {
  readonly files?: Readonly<Record<string, string>>;
  readonly agent?: Partial<AgentPlan>;
  readonly driver?: 'bubblewrap' | 'none';
  /** By which the sandbox's proxy reaches hosts. */
  readonly net?: Net;
  readonly config?: Partial<Deps['config']>;
}

const AGENT: AgentPlan = {
  name: 'writer',
  description: 'Writes.',
  path: 'agents/writer.md',
  prompt: [],
  builtins: ['Read', 'Write', 'Edit', 'Glob', 'Grep', 'Bash', 'save_to_storage'],
  tools: [],
  grants: [],
  skills: [],
  secrets: [],
  knowledge: [],
  memory: 'memory/writer/',
  agents: [],
  approve: [],
  maxTurns: 50,
  network: [],
  runtime: {},
  config: {},
};

export const STEP: StepPlan = {
  kind: 'step',
  n: 1,
  id: 'draft',
  title: 'Draft',
  agent: 'writer',
  instruction: [],
  output: 'text',
  onFail: 'stop',
  secrets: [],
};

/** A lane of a live run in a workspace of these files, with the real database, blob store and sandbox. */
export async function createToolLane({
  files = {},
  agent = {},
  driver = 'bubblewrap',
  net,
  config: more = {},
}: ToolLaneOptions = {}): Promise<ToolLane> {
  const { sandbox, dataDir } = await createTestSandbox({ driver, ...(net && { net }) });
  const base = await createTestDeps({ config: more });
  const config = { ...base.config, dataDir };
  const deps: Deps = {
    ...base,
    checker: directChecker,
    config,
    sandbox,
    blobs: createBlobStore({ dataDir, s3: null }),
  };
  const { tenant } = await createTenant(deps);
  const workspaceId = await insertWorkspace(deps, tenant, `w-${newId()}`);
  const revision = await insertRevision(deps, workspaceId, files);
  const run = { id: newId(), tenantId: tenant, workspaceId, revision, librarySeq: 0, flow: 'hello', mode: 'normal' };
  return laneOf(deps, { run, lane: 'main', agent: { ...AGENT, ...agent } });
}

async function laneOf(deps: Deps, wish: Pick<ToolContext, 'run' | 'lane' | 'agent'>): Promise<ToolLane> {
  await insertLiveRun(deps, wish.run);
  const folder = await openLane(deps, wish.run, wish.lane);
  const seen = new Map<string, string>();
  const servers = createLaneServers(deps, new AbortController().signal);
  onTestFinished(() => servers.close());
  const context: ToolContext = {
    ...wish,
    servers,
    openFolder: async () => folder,
    folder,
    seen,
    step: STEP,
    plan: { agents: { [wish.agent.name]: wish.agent }, workspace: { network: [], runtime: {} } } as unknown as Plan,
    results: new Map([['research', 'What was found.']]),
    secrets: givenSecrets({}),
    signal: new AbortController().signal,
    guard: async () => undefined,
  };
  const call: ToolLane['call'] = async (name, args, change = {}) => {
    const used = { ...context, callKey: newId(), ...change };
    const tool = (await assembleTools(deps, used)).find(({ spec }) => spec.name === name);
    if (!tool) throw new Error(`the agent has no tool ${name}`);
    const outcome = await tool.run(args, used);
    for (const { path, sha } of outcome.seen ?? []) seen.set(path, sha);
    return outcome;
  };
  const text = async (isError: boolean, outcome: ToolOutcome) => {
    if (outcome.isError !== isError)
      throw new Error(`the tool ${isError ? 'did not fail' : 'failed'}: ${outcome.text}`);
    return outcome.text;
  };
  return {
    deps,
    context,
    call,
    ok: async (...args) => text(false, await call(...args)),
    fails: async (...args) => text(true, await call(...args)),
    keep: (change = {}) => keepStep(deps, { ...context, ...change }),
    other: ({ lane = wish.lane, agent = wish.agent, mode = wish.run.mode, run = wish.run.id }) =>
      laneOf(deps, { lane, agent, run: { ...wish.run, mode, id: run } }),
  };
}

async function insertLiveRun({ db }: Pick<Deps, 'db'>, run: ToolContext['run']): Promise<void> {
  await db.query(
    `INSERT INTO run (id, tenant_id, workspace_id, flow, plan_id, revision, root_id, trigger, tags, memory_writes, status, mode)
     VALUES ($1, $2, $3, $4, 'p', $5, $1, '{"kind":"manual"}', '{}', '{}', 'running', $6) ON CONFLICT DO NOTHING`,
    [run.id, run.tenantId, run.workspaceId, run.flow, run.revision, run.mode],
  );
}

async function insertRevision(
  { db }: Pick<Deps, 'db'>,
  workspaceId: string,
  files: Readonly<Record<string, string>>,
): Promise<string> {
  const manifest: Record<string, Json> = {};
  for (const [path, text] of Object.entries(files)) {
    const content = Buffer.from(text);
    const sha = blobId(content);
    manifest[path] = {
      sha,
      size: content.length,
      by: { kind: 'system', id: 'test', label: 'test' },
      at: new Date(0).toISOString(),
    };
    await db.query(
      'INSERT INTO blob (workspace_id, sha, size, content) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING',
      [workspaceId, sha, content.length, content],
    );
  }
  const id = newId();
  await db.query(
    `INSERT INTO revision (workspace_id, seq, id, git_commit, tree_hash, manifest, plans, index) VALUES ($1, 1, $2, $2, $2, $3, '{}', '{}')`,
    [workspaceId, id, JSON.stringify(manifest)],
  );
  await db.query('UPDATE workspace SET live_seq = 1 WHERE id = $1', [workspaceId]);
  return id;
}

/** A script tool of fenced code. */
export function codeTool(language: string, code: string, more: Partial<ScriptToolPlan> = {}): ScriptToolPlan {
  return {
    transport: 'script',
    name: 'tool',
    description: 'A tool.',
    path: 'tools/tool.md',
    secrets: [],
    program: { kind: 'code', language, code },
    args: { start: 'a date' },
    runtime: {},
    files: [],
    ...more,
  };
}

/** A script tool that is a folder of files; the first is its program. */
export function folderTool(
  files: Readonly<Record<string, string>>,
  more: Partial<ScriptToolPlan> = {},
): ScriptToolPlan {
  const [program = ''] = Object.keys(files);
  return codeTool('', '', {
    path: 'tools/tool/tool.md',
    program: { kind: 'file', path: program },
    files: Object.entries(files).map(([path, text]) => ({ path, sha: blobId(Buffer.from(text)) })),
    ...more,
  });
}
