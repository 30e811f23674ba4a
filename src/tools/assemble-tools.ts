import type { Deps } from '../deps.js';
import type { AgentPlan, StepPlan, ToolPlan } from '../workspace/model.js';
import { BadArgument } from './arguments.js';
import { bashTool } from './builtins/bash.js';
import { editTool } from './builtins/edit.js';
import { globTool } from './builtins/glob.js';
import { grepTool } from './builtins/grep.js';
import { readTool } from './builtins/read.js';
import { saveToStorageTool } from './builtins/save-to-storage.js';
import { writeTool } from './builtins/write.js';
import type { AgentTool } from './contract.js';
import { limitResult } from './limit-result.js';
import { toolError } from './outcome.js';
import { refusedTransport } from './transports/refused.js';
import { scriptTool } from './transports/script.js';

export type ToolDeps = Pick<Deps, 'db' | 'blobs' | 'sandbox'>;

/** The built-ins that live here; `run_agent` and `ask_human` are the engine's. */
const BUILTINS = {
  Read: readTool,
  Glob: globTool,
  Grep: grepTool,
  Write: writeTool,
  Edit: editTool,
  Bash: bashTool,
  save_to_storage: saveToStorageTool,
} as const satisfies Readonly<Record<string, (deps: ToolDeps) => AgentTool>>;

const TRANSPORTS = {
  script: scriptTool,
  http: (_deps, tool) => refusedTransport(tool),
  mcp: (_deps, tool) => refusedTransport(tool),
} as const satisfies {
  readonly [T in ToolPlan['transport']]: (deps: ToolDeps, tool: Extract<ToolPlan, { transport: T }>) => AgentTool;
};

/**
 * The tools that a step's agent has: its built-ins and the tools it is granted, narrowed by the step's `tools`. Throws
 * a Refusal `refused` when one of them cannot be run by this version.
 */
export function assembleTools(deps: ToolDeps, step: StepPlan, agent: AgentPlan): readonly AgentTool[] {
  const isWanted = (name: string) =>
    step.tools === undefined || step.tools.some((wanted) => wanted.split('.')[0] === name);
  const builtins = Object.entries(BUILTINS).filter(([name]) => agent.builtins.includes(name) && isWanted(name));
  const granted = agent.tools.filter(({ name }) => isWanted(name));
  const tools = [...builtins.map(([, create]) => create(deps)), ...granted.map((tool) => createGranted(deps, tool))];
  return tools.map((tool) => guarded(deps, tool));
}

function createGranted(deps: ToolDeps, tool: ToolPlan): AgentTool {
  const create = TRANSPORTS[tool.transport] as (deps: ToolDeps, tool: ToolPlan) => AgentTool;
  return create(deps, tool);
}

/** What is wrong with a call is told to the model; what is wrong with the house is thrown. */
function guarded(deps: ToolDeps, tool: AgentTool): AgentTool {
  return {
    ...tool,
    run: async (args, context) => {
      const outcome = await tool.run(args, context).catch((error: unknown) => {
        if (error instanceof BadArgument) return toolError(error.message);
        throw error;
      });
      // A program may have left a secret in a file, where Read and Grep find it.
      const text = context.secrets.hide().text(outcome.text);
      return limitResult(deps, context, { tool: tool.spec.name, outcome: { ...outcome, text } });
    },
  };
}
