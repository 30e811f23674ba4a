import fc from 'fast-check';
import { SEED, TIMES } from './exploring.js';

fc.configureGlobal({ numRuns: 100 * TIMES, ...(SEED !== undefined && { seed: SEED }) });

/** For a property that usually tries other than 100 cases. */
export function runs(usual: number): { readonly numRuns: number } {
  return { numRuns: usual * TIMES };
}

export { fc };
