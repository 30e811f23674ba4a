import type { Deps } from '../deps.js';
import type { AgentPlan, ToolPlan } from '../format/model.js';
import type { JsonObject } from '../shared/json.js';
import { BadArgument } from './arguments.js';
import { bashTool } from './builtins/bash.js';
import { editTool } from './builtins/edit.js';
import { grepTool } from './builtins/grep.js';
import { loadSkillTool } from './builtins/load-skill.js';
import { globTool } from './builtins/match-glob.js';
import { readTool } from './builtins/read.js';
import { saveToStorageTool } from './builtins/save-to-storage.js';
import { writeTool } from './builtins/write.js';
import type { AgentTool, CannedResults, Operation, ToolContext, ToolOutcome } from './contract.js';
import { limitResult } from './limit-result.js';
import { means, nameOperations, toolOf } from './names.js';
import { toolError } from './outcome.js';
import { httpTool } from './transports/http.js';
import { mcpTool } from './transports/mcp.js';
import { scriptTool } from './transports/script.js';
import { unusable } from './transports/unusable.js';

const ANYTHING: JsonObject = { type: 'object', properties: {}, additionalProperties: true };

type ToolDeps = Pick<Deps, 'db' | 'blobs' | 'sandbox' | 'net' | 'config' | 'log' | 'checker'>;

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

/** The operations of a tool, by kind. An unavailable tool gives one operation whose calls say why: the step continues. */
type Transport<T> = (
  deps: ToolDeps,
  tool: Extract<ToolPlan, { transport: T }>,
  context: ToolContext,
) => Promise<readonly Operation[]>;

const TRANSPORTS = {
  script: scriptTool,
  http: httpTool,
  mcp: mcpTool,
} as const satisfies { readonly [T in ToolPlan['transport']]: Transport<T> };

/**
 * The tools that a step's agent has: its built-ins and the operations of the tools it is granted, less what it
 * disallows, limited to the step's `tools`.
 */
export async function assembleTools(deps: ToolDeps, context: ToolContext): Promise<readonly AgentTool[]> {
  const { agent, step } = context;
  const isWanted = (name: string) => step.tools === undefined || step.tools.some((word) => toolOf(word) === name);
  const builtins = Object.entries(BUILTINS).filter(([name]) => agent.builtins.includes(name) && isWanted(name));
  const granted = agent.tools.filter(({ name }) => isWanted(name));
  const operations = await Promise.all(granted.map((tool) => operationsOf(deps, context, tool)));
  // Skills are not grants: a step that limits the tools still follows its agent's procedures.
  const skills = agent.skills.length > 0 ? [loadSkillTool(deps, agent.skills)] : [];
  const tools = [...builtins.map(([, create]) => create(deps)), ...skills, ...operations.flat()];
  return tools.map((tool) => guarded(deps, tool));
}

async function operationsOf(deps: ToolDeps, context: ToolContext, tool: ToolPlan): Promise<readonly AgentTool[]> {
  const { agent, step } = context;
  const found = await allOperations(deps, context, tool);
  const all = [...found, ...missing(agent, tool, found)];
  for (const { unusable: error } of all)
    if (error !== undefined && !context.signal.aborted) context.emit?.('tool.unavailable', { name: tool.name, error });
  const named = nameOperations(tool.name, all);
  const { cannedResults } = context;
  const inUse = cannedResults ? named.map((one) => withCannedAnswers(one, cannedResults)) : named;
  return [grantsOf(agent, tool.name), step.tools].reduce(limitTools, inUse).filter((one) => !isDisallowed(agent, one));
}

/**
 * In an eval that is not live, no server is asked for its tools: the case names what is called. Includes operations
 * that only the case knows, as when a document is unreadable.
 */
async function allOperations(deps: ToolDeps, context: ToolContext, tool: ToolPlan): Promise<readonly Operation[]> {
  const { cannedResults } = context;
  const isLeftAlone = tool.transport === 'mcp' && cannedResults != null && !cannedResults.live;
  const create = TRANSPORTS[tool.transport] as Transport<ToolPlan['transport']>;
  const found = isLeftAlone ? [] : await create(deps, tool, context);
  return cannedResults ? [...found, ...cannedOperations(tool, cannedResults, found)] : found;
}

/** Granted operations that do not exist now: a document or a server may have changed. */
function missing(agent: AgentPlan, tool: ToolPlan, found: readonly Operation[]): Operation[] {
  if (found.some(({ operation }) => operation === null)) return [];
  const named = nameOperations(tool.name, found);
  const words = (grantsOf(agent, tool.name) ?? []).filter((word) => word !== tool.name);
  return words.flatMap((word) => {
    if (named.some((one) => isMeant(word, one))) return [];
    return [unusable(word.slice(tool.name.length + 1), `tool ${tool.name} has no operation of the name ${word}`)];
  });
}

/**
 * The agent's grants for this tool; undefined grants all of it, as for a server in the agent's own file, or one of
 * .mcp.json that `mcpServers` names.
 */
function grantsOf({ grants }: AgentPlan, tool: string): readonly string[] | undefined {
  const own = grants.filter((grant) => toolOf(grant) === tool);
  return own.length === 0 ? undefined : own;
}

function limitTools(tools: readonly AgentTool[], words: readonly string[] | undefined): readonly AgentTool[] {
  if (words === undefined) return tools;
  // A tool with a single operation, or one that is unavailable, matches the name of any of its operations.
  const isOf = (word: string, { ref }: AgentTool) => !ref.includes('.') && toolOf(word) === ref;
  return tools.filter((tool) => words.some((word) => isMeant(word, tool) || isOf(word, tool)));
}

function isDisallowed({ disallowed = [] }: AgentPlan, tool: AgentTool): boolean {
  return disallowed.some((word) => isMeant(word, tool));
}

function isMeant(word: string, { ref, spec }: AgentTool): boolean {
  return means(word, { ref, name: spec.name });
}

/** Errors of a call become results for the model; internal errors are thrown. */
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

/**
 * A granted tool in a run of an eval: the case's canned results answer, and nothing acts. A call without one is an
 * error to the model, or the tool's own when the case is `live`.
 */
function withCannedAnswers(tool: AgentTool, cannedResults: CannedResults): AgentTool {
  const { ref, spec } = tool;
  if (cannedResults.live && !cannedResults.tools.includes(ref)) return tool;
  return {
    ref,
    spec,
    acts: () => false,
    program: false,
    canned: true,
    run: (_args, { callKey }) => answerFrom(cannedResults, ref, callKey),
  };
}

async function answerFrom(cannedResults: CannedResults, ref: string, callKey: string): Promise<ToolOutcome> {
  const answer = await cannedResults.answer(ref, callKey);
  return answer ?? toolError(`${ref} is not called in this eval: its case has no result for it under ### Tools`);
}

/** Operations that the case answers but that were not found; one for the whole tool if there are no others. */
function cannedOperations(
  { name, description }: ToolPlan,
  { tools }: CannedResults,
  found: readonly Operation[],
): readonly Operation[] {
  const known = new Set(found.map(({ operation }) => operation));
  const canned = tools.filter((tool) => toolOf(tool) === name).map((tool) => operationOf(tool, name));
  const more = canned.filter((operation) => !known.has(operation));
  const operations = found.length + more.length === 0 ? [null] : more;
  return operations.map((operation) => ({
    operation,
    description,
    parameters: ANYTHING,
    acts: () => false,
    program: false,
    run: async () => toolError(`${name} cannot be called here`),
  }));
}

function operationOf(tool: string, name: string): string | null {
  return tool === name ? null : tool.slice(name.length + 1);
}
