import type { AgentTool } from '../../tools/contract.js';

/** An agent gets it only by name. Its call parks the step; the decider's note is the answer. */
export const askHuman: AgentTool = {
  ref: 'ask_human',
  spec: {
    name: 'ask_human',
    description:
      'Ask a person one question and wait for the answer. Use it when you cannot continue without a decision.',
    parameters: {
      type: 'object',
      properties: {
        question: { type: 'string', description: 'What the person has to decide, with what they need to know.' },
      },
      required: ['question'],
      additionalProperties: false,
    },
  },
  acts: () => false,
  program: false,
  run: async () => {
    throw new Error('ask_human is answered by its park, never run');
  },
};
