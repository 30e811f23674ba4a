import { unsupportedPatterns } from '../../format/index.js';
import type { McpToolPlan } from '../../format/model.js';
import { TokenRefusal } from '../../secrets/index.js';
import { BadArgument } from '../arguments.js';
import type { Operation, ToolContext, ToolOutcome } from '../contract.js';
import { type McpDeps, type Server, ServerFault, type ServerTool } from '../mcp/contract.js';
import { toolError } from '../outcome.js';
import { unusable } from './unusable.js';

/** An MCP server: an operation for each of its tools. An unreachable one has a single operation, which says why. */
export async function mcpTool(deps: McpDeps, plan: McpToolPlan, context: ToolContext): Promise<readonly Operation[]> {
  try {
    const server = await context.servers.find(plan, context);
    const tools = await server.tools(context);
    if (tools.length === 0) return [unavailable(plan, 'it has no tools')];
    return tools.map((tool) => operationOf(deps, { plan, server, tool }));
  } catch (error) {
    // The step timed out or the run ended: the caller checks both itself.
    if (context.signal.aborted) return [unavailable(plan, 'the time of the step was over')];
    return [unavailable(plan, sentenceOf(error))];
  }
}

interface OfServer {
  readonly plan: McpToolPlan;
  readonly server: Server;
  readonly tool: ServerTool;
}

function operationOf(deps: McpDeps, { plan, server, tool }: OfServer): Operation {
  return {
    operation: tool.name,
    description: tool.description,
    parameters: tool.parameters,
    acts: () => !tool.readOnly,
    program: false,
    run: (args, context) => {
      warnOfPatterns(deps, plan, tool);
      return server.call({ tool, args }, context).catch((error: unknown): ToolOutcome => {
        const outcome = toolError(`${plan.name}: ${sentenceOf(error)}`);
        const mayHaveActed = error instanceof ServerFault && error.mayHaveActed;
        return mayHaveActed ? { ...outcome, detail: { mayHaveActed } } : outcome;
      });
    },
  };
}

const warned = new WeakSet<ServerTool>();

/**
 * Arguments are checked without the patterns that RE2 does not support. Warns at a tool's first call, since a list may
 * have thousands of tools.
 */
function warnOfPatterns({ log }: McpDeps, { name }: McpToolPlan, tool: ServerTool): void {
  if (warned.has(tool)) return;
  warned.add(tool);
  const patterns = unsupportedPatterns(tool.parameters);
  if (patterns.length === 0) return;
  log.warn({ server: name, tool: tool.name, patterns }, 'MCP tool schema has patterns that RE2 does not support');
}

function unavailable({ name }: McpToolPlan, why: string): Operation {
  return unusable(null, `the MCP server ${name} cannot be used in this step: ${why}`);
}

/** Server errors become results for the model; internal errors and stops are thrown. */
function sentenceOf(error: unknown): string {
  if (error instanceof ServerFault || error instanceof BadArgument) return error.message;
  const isSecret = error instanceof TokenRefusal;
  if (isSecret) return error.message;
  throw error;
}
