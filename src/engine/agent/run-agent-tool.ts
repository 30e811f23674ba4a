import type { AgentPlan, Plan } from '../../format/model.js';
import type { AgentTool } from '../../tools/contract.js';

export const RUN_AGENT = 'run_agent';

/** The tool by which an agent with `agents:` delegates tasks; null without any agent to delegate to. */
export function runAgentTool(agent: AgentPlan, agents: Plan['agents']): AgentTool | null {
  const names = agent.agents.filter((name) => agents[name] !== undefined);
  if (names.length === 0 || !agent.builtins.includes(RUN_AGENT)) return null;
  const list = names.map((name) => `\n- ${name}: ${agents[name]?.description ?? ''}`).join('');
  return {
    ref: RUN_AGENT,
    spec: {
      name: RUN_AGENT,
      description: `Hands a piece of work to another agent and answers what it made of it. It has its own tools and knows nothing of this conversation: say all that it needs. Several calls of one turn run side by side. Agents:${list}`,
      parameters: {
        type: 'object',
        properties: {
          agent: { type: 'string', enum: names, description: 'Who is to do it.' },
          task: { type: 'string', minLength: 1, maxLength: 262_144, description: 'What is to be done, and with what.' },
        },
        required: ['agent', 'task'],
        additionalProperties: false,
      },
    },
    acts: () => true,
    program: false,
    run: async () => {
      throw new Error('run_agent is answered by its child run, never run');
    },
  };
}
