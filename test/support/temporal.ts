import { inject } from 'vitest';

/** The address of the test run's Temporal server and its namespace; use a task queue of your own. */
export function testTemporal(): { readonly address: string; readonly namespace: string } {
  return { address: inject('temporalAddress'), namespace: 'signalbox' };
}
