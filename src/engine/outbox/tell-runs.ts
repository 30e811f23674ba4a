import type { Deps } from '../../deps.js';
import { tellEvents } from '../rows/tell-events.js';
import { tellNow } from './outbox.js';

/** Announces committed changes of these runs to watchers and Temporal. Never throws: the sweep repeats it. */
export async function tellRuns(deps: Deps, runIds: Iterable<string>): Promise<void> {
  const told = [...new Set(runIds)].map((id) => {
    tellEvents(deps, id);
    return tellNow(deps, id);
  });
  await Promise.all(told);
}
