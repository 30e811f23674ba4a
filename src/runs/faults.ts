import { Refusal } from '../shared/refusal.js';

/** What is wrong with one field of a body. */
export interface Fault {
  readonly path: string;
  readonly message: string;
}

/** Refuses a body in the form of a schema error: one sentence, and each fault with its path. */
export function refuseFaults(issues: readonly Fault[]): void {
  if (issues.length === 0) return;
  const text = issues.map(({ path, message }) => `${path}: ${message}`).join('; ');
  throw new Refusal('refused', text, { code: 'invalid', issues });
}
