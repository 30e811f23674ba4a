import type { Deps } from '../../deps.js';
import { removeFolder } from '../../sandbox/index.js';
import { scratchFolder } from './open-lane.js';

/** Removes what a run left on this host: its programs, then the folders of its lanes. Call it when the run has ended. */
export async function dropLane(deps: Pick<Deps, 'config' | 'sandbox'>, runId: string): Promise<void> {
  await deps.sandbox.kill(runId);
  await removeFolder(scratchFolder(deps, runId));
}
