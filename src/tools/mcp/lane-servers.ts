import { createHash } from 'node:crypto';
import { dirname } from 'node:path/posix';
import type { McpToolPlan } from '../../format/model.js';
import { canonicalJson } from '../../shared/json.js';
import type { ToolContext } from '../contract.js';
import { fillSecrets } from '../fill-secrets.js';
import { WORKSPACE_INSIDE } from '../lane/open-lane.js';
import { networkOf } from '../program/run-in-lane.js';
import { prepareShown } from '../program/shown-files.js';
import { prepareRuntime } from '../runtime/prepare-runtime.js';
import type { Dial } from './connection.js';
import { type LaneServers, type McpDeps, ServerFault } from './contract.js';
import { dialsOf } from './dial-remote.js';
import { loadSdk } from './sdk.js';
import { McpServer, type ServerInput } from './server.js';
import { type RunServer, StdioTransport } from './stdio-transport.js';

/** Runs a server with the runtime and network of its agent, like all the agent's programs. */
const run = async (
  deps: McpDeps,
  { plan, context, argv, env, signal }: LocalServer,
  wiring: Parameters<RunServer>[0],
): ReturnType<RunServer> => {
  const runtime = await prepareRuntime(deps, context);
  if (typeof runtime === 'string') throw new ServerFault(runtime);
  try {
    const shown = await prepareShown(deps, context);
    return await deps.sandbox.run({
      argv,
      env: { ...runtime.env, ...env },
      stdin: null,
      workDir: context.folder.work,
      readOnly: [{ host: shown, inside: WORKSPACE_INSIDE }, ...runtime.readOnly],
      cwd: folderOf(plan),
      timeoutMs: null,
      network: { hosts: networkOf(context) },
      owner: { runId: context.run.id, lane: context.lane },
      signal: AbortSignal.any([signal, wiring.signal]),
      onPipes: wiring.onPipes,
    });
  } finally {
    runtime.release();
  }
};

interface Kept {
  readonly server: McpServer;
  readonly isLocal: boolean;
  /** Hash of what it was started with: a renewed secret restarts it. */
  readonly digest: string;
}

/** `signal` is the lane's signal, which ends every program. */
export function createLaneServers(deps: McpDeps, signal: AbortSignal): LaneServers {
  const kept = new Map<string, Kept>();
  return {
    async find(plan, context) {
      await loadSdk();
      const isLocal = plan.command !== undefined;
      const key = digestOf([plan, isLocal ? [context.agent.network, context.agent.runtime] : null]);
      const digest = digestOf(await fillConnection(plan, context));
      const known = kept.get(key);
      if (known && (known.digest === digest || !isLocal)) return known.server;
      await known?.server.leave();
      const server = new McpServer(deps, isLocal ? program(deps, plan, signal) : remote(deps, plan));
      kept.set(key, { server, isLocal, digest });
      return server;
    },
    leaveStep: async () => {
      // Close the session in the background: the step does not wait for it.
      for (const { server, isLocal } of kept.values()) if (!isLocal) server.leave().catch(() => undefined);
    },
    close: async () => {
      await Promise.allSettled([...kept.values()].map(({ server }) => server.leave()));
    },
  };
}

function digestOf(value: Parameters<typeof canonicalJson>[0]): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

async function fillConnection(plan: McpToolPlan, context: ToolContext) {
  const { command = '', args, env, headers, url = '' } = plan;
  const list = Object.fromEntries([command, ...args].map((text, index) => [String(index), text]));
  return {
    argv: Object.values(await fillSecrets(plan.name, list, context)),
    env: await fillSecrets(plan.name, env, context),
    headers: await fillSecrets(plan.name, headers, context),
    url: (await fillSecrets(plan.name, { url }, context, encodeURIComponent)).url ?? '',
  };
}

function program(deps: McpDeps, plan: McpToolPlan, signal: AbortSignal): ServerInput {
  return {
    plan,
    isLocal: true,
    dials: async (context) => {
      const { argv, env } = await fillConnection(plan, context);
      return dialsOfProgram(deps, { plan, context, argv, env, signal });
    },
  };
}

function remote(deps: McpDeps, plan: McpToolPlan): ServerInput {
  return {
    plan,
    isLocal: false,
    dials: async (context) => {
      const { url } = await fillConnection(plan, context);
      const fault = deps.net.check(url, { httpsOnly: plan.secrets.length > 0 });
      if (fault !== null) throw new ServerFault(fault.message);
      const headers = async () => (await fillConnection(plan, context)).headers;
      return dialsOf({ net: deps.net, plan, url: new URL(url), headers });
    },
  };
}

interface LocalServer {
  readonly plan: McpToolPlan;
  readonly context: ToolContext;
  readonly argv: readonly string[];
  /** With secrets filled in; only what the tool's file declares. */
  readonly env: Readonly<Record<string, string>>;
  /** The lane's signal, since the server outlives the step that starts it. */
  readonly signal: AbortSignal;
}

/** The ways to a local server: over its standard streams, in both generations of the protocol. */
async function dialsOfProgram(deps: McpDeps, local: LocalServer): Promise<readonly (() => Dial)[]> {
  await local.context.openFolder();
  return (['legacy', 'auto'] as const).map((mode) => () => {
    const transport = new StdioTransport((wiring) => run(deps, local, wiring));
    return { transport, mode, why: () => transport.why, close: () => transport.close() };
  });
}

/** The working folder: the tool's own if it has one, so that it finds its files, else /work. */
function folderOf({ path }: McpToolPlan): string {
  return path.endsWith('/tool.md') ? `${WORKSPACE_INSIDE}/${dirname(path)}` : '/work';
}
