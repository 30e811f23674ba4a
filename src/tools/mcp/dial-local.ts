import { dirname } from 'node:path/posix';
import type { McpToolPlan } from '../../format/model.js';
import type { ToolContext } from '../contract.js';
import { WORKSPACE_INSIDE } from '../lane/open-lane.js';
import { networkOf } from '../program/run-in-lane.js';
import { prepareShown } from '../program/shown-files.js';
import { prepareRuntime } from '../runtime/prepare-runtime.js';
import type { Dial } from './connection.js';
import { type McpDeps, ServerFault } from './contract.js';
import { type RunServer, StdioTransport } from './stdio-transport.js';

export interface LocalServer {
  readonly plan: McpToolPlan;
  readonly context: ToolContext;
  readonly argv: readonly string[];
  /** Filled: it has what its own file declares and nothing else. */
  readonly env: Readonly<Record<string, string>>;
  /** The lane's: it outlives the step that starts it. */
  readonly signal: AbortSignal;
}

/** The ways to a program's server: over its standard streams, in both generations of the protocol. */
export async function dialsOfProgram(deps: McpDeps, local: LocalServer): Promise<readonly (() => Dial)[]> {
  await local.context.openFolder();
  return (['legacy', 'auto'] as const).map((mode) => () => {
    const transport = new StdioTransport((wiring) => run(deps, local, wiring));
    return { transport, mode, why: () => transport.why, close: () => transport.close() };
  });
}

/** With the runtime and the network of its agent, as all programs of that. */
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

/** A tool that is a folder finds its own files beside it; any other is started where programs are. */
function folderOf({ path }: McpToolPlan): string {
  return path.endsWith('/tool.md') ? `${WORKSPACE_INSIDE}/${dirname(path)}` : '/work';
}
