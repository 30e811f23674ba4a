import type { Operation } from '../contract.js';
import { toolError } from '../outcome.js';

/** Replaces a tool that is unavailable: its calls answer why, and the step continues. */
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
