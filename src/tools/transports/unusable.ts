import type { Operation } from '../contract.js';
import { toolError } from '../outcome.js';

/** What stands in the place of a tool that cannot be used now: the model is told why, and the step goes on. */
export function unusable(operation: string | null, why: string): Operation {
  return {
    operation,
    unusable: why,
    description: `Cannot be used now: ${why}.`,
    parameters: { type: 'object' },
    acts: () => false,
    program: false,
    fault: why,
    run: async () => toolError(why),
  };
}
