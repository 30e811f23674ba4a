import type { ToolOutcome } from './contract.js';

export function ok(text: string): ToolOutcome {
  return { text, isError: false };
}

/** An error that the model reads: a sentence that says what to do instead. */
export function toolError(text: string): ToolOutcome {
  return { text, isError: true };
}
