import type { ToolContext } from '../contract.js';

/** What every program of a step may reach: what the agent's file and AGENTS.md open, together. An eval that is not live reaches nothing. */
export function networkOf({
  agent,
  plan,
  run,
  standIn,
}: Pick<ToolContext, 'agent' | 'plan' | 'run' | 'standIn'>): readonly string[] {
  if (run.mode === 'eval' && !standIn?.live) return [];
  return [...new Set([...plan.workspace.network, ...agent.network])];
}
