import { createHash } from 'node:crypto';
import type { McpToolPlan } from '../../format/model.js';
import { canonicalJson } from '../../shared/json.js';
import type { ToolContext } from '../contract.js';
import { fillSecrets } from '../fill-secrets.js';
import { type LaneServers, type McpDeps, ServerFault } from './contract.js';
import { dialsOfProgram } from './dial-local.js';
import { dialsOf } from './dial-remote.js';
import { loadSdk } from './sdk.js';
import { McpServer, type ServerInput } from './server.js';

interface Kept {
  readonly server: McpServer;
  readonly isLocal: boolean;
  /** Hash of what it was started with: a renewed secret restarts it. */
  readonly digest: string;
}

/** `signal` is the lane's: with it every program ends. */
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
