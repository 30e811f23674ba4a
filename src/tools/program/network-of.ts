import type { ToolContext } from '../contract.js';

/** What every program of a step may reach: what the agent's file and AGENTS.md open, together. */
export function networkOf({ agent, plan }: Pick<ToolContext, 'agent' | 'plan'>): readonly string[] {
  return [...new Set([...plan.workspace.network, ...agent.network])];
}
