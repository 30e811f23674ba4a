import type { Deps } from '../../deps.js';
import type { Lane } from '../lane/lane.js';
import { abortLive } from '../live.js';
import { notifyStreams } from '../rows/notify-streams.js';
import { countActive } from './count-active.js';
import { endOverdue } from './end-overdue.js';

const POLL_EVERY_MS = 1_000;
const LEAST_MS = 20;

/**
 * Works while the clocks of the steps above are running: `timeout` of a step with `subflow:` limits the active time of
 * its child and the runs under it. Waits for people, events or a time have no advance and do not count. The clock is in
 * the child's row and is updated about each second by each active lane, so a worker that dies loses at most that much.
 * A run whose time is over is ended with all under it.
 */
export async function withClocks<T>(lane: Lane, work: () => Promise<T>): Promise<T> {
  const clocks = lane.run.clocks ?? [];
  if (clocks.length === 0) return work();
  const watch = watchClocks(lane.deps, clocks);
  try {
    await watch.begun;
    if (lane.signal.aborted) throw lane.signal.reason;
    return await work();
  } finally {
    await watch.end();
  }
}

function watchClocks(deps: Deps, clocks: readonly string[]): { readonly begun: Promise<void>; end(): Promise<void> } {
  let ended = false;
  let timer: NodeJS.Timeout | undefined;
  const poll = async (begins: boolean): Promise<void> => {
    let next = POLL_EVERY_MS;
    for (const clock of clocks) {
      const left = await countActive(deps.db, clock, begins);
      if (left !== null && left <= 0) await endNow(deps, clock);
      else if (left !== null) next = Math.min(next, Math.max(left, LEAST_MS));
    }
    if (!ended) timer = setTimeout(again, next);
  };
  // While the database is unavailable nothing is counted: the next look counts it.
  const again = (): void => {
    at = poll(false).catch(() => {
      if (!ended) timer = setTimeout(again, POLL_EVERY_MS);
    });
  };
  const begun = poll(true);
  let at: Promise<void> = begun.catch(() => undefined);
  return {
    begun,
    end: async () => {
      ended = true;
      clearTimeout(timer);
      await at;
      for (const clock of clocks) await countActive(deps.db, clock, false).catch(() => undefined);
    },
  };
}

async function endNow(deps: Deps, clock: string): Promise<void> {
  // A workflow with an active lane ends with that lane; the outbox cancels the others.
  for (const id of await endOverdue(deps.db, clock)) {
    abortLive(id);
    notifyStreams(deps, id);
  }
}
