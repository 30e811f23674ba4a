import type { ToolPlan } from '../format/model.js';
import type { JsonObject } from '../shared/json.js';
import type { AgentTool, Operation, StandIn, ToolOutcome } from './contract.js';
import { toolOf } from './names.js';
import { toolError } from './outcome.js';

/**
 * A granted tool in a run of an eval: the case's canned results answer, and nothing acts. A call without one is an
 * error to the model, or the tool's own when the case is `live`.
 */
export function withCannedAnswers(tool: AgentTool, standIn: StandIn): AgentTool {
  const { ref, spec } = tool;
  if (standIn.live && !standIn.tools.includes(ref)) return tool;
  return {
    ref,
    spec,
    acts: () => false,
    program: false,
    canned: true,
    run: (_args, { callKey }) => answerFrom(standIn, ref, callKey),
  };
}

async function answerFrom(standIn: StandIn, ref: string, callKey: string): Promise<ToolOutcome> {
  const answer = await standIn.answer(ref, callKey);
  return answer ?? toolError(`${ref} is not called in this eval: its case has no result for it under ### Tools`);
}

const ANYTHING: JsonObject = { type: 'object', properties: {}, additionalProperties: true };

/** Operations that the case answers and that were not found; one for the whole tool where there is nothing else. */
export function cannedOperations(
  { name, description }: ToolPlan,
  { tools }: StandIn,
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
