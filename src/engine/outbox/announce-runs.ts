import type { Deps } from '../../deps.js';
import { notifyStreams } from '../rows/notify-streams.js';
import { dispatchOutbox } from './outbox.js';

/** Announces committed changes of these runs to watchers and Temporal. Never throws: the sweep repeats it. */
export async function announceRuns(deps: Deps, runIds: Iterable<string>): Promise<void> {
  const dispatched = [...new Set(runIds)].map((id) => {
    notifyStreams(deps, id);
    return dispatchOutbox(deps, id);
  });
  await Promise.all(dispatched);
}
