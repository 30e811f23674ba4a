import { Ended } from './errors.js';

/** The lanes that this process advances now, by run. A stop aborts them at once. */
const live = new Map<string, Set<AbortController>>();

export const STOP_CHANNEL = 'run_stop';

export function enterLive(runId: string): { readonly controller: AbortController; leave(): void } {
  const controller = new AbortController();
  const set = live.get(runId) ?? new Set();
  set.add(controller);
  live.set(runId, set);
  return {
    controller,
    leave: () => {
      set.delete(controller);
      if (set.size === 0) live.delete(runId);
    },
  };
}

/** Aborts every lane of the run that is active in this process, and kills its programs. */
export function abortLive(runId: string): void {
  for (const controller of live.get(runId) ?? []) controller.abort(new Ended());
}
