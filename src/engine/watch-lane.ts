import type { Deps } from '../deps.js';
import { type Loops, startLoops } from '../shared/repeat.js';
import type { Turn } from '../workflows/contract.js';
import { Ended, Fenced } from './errors.js';

const LOOK_EVERY_MS = 1_000;

/**
 * Checks the lane each second, as a fallback for a stop whose NOTIFY was lost and for a takeover while this attempt was
 * paused: a higher fence or an ended run aborts the lane.
 */
export function watchLane(deps: Deps, turn: Turn, fence: bigint, controller: AbortController): Loops {
  const look = async (): Promise<void> => {
    const [row] = await deps.db.query<{ fence: bigint; ended: boolean }>({
      name: 'watch-lane',
      text: `SELECT l.fence, r.finished_at IS NOT NULL AS ended FROM lane l JOIN run r ON r.id = l.run_id
        WHERE l.run_id = $1 AND l.lane = $2`,
      values: [turn.runId, turn.lane],
    });
    if (!row || row.ended) controller.abort(new Ended());
    else if (row.fence !== fence) controller.abort(new Fenced());
  };
  // Ignore an unavailable database: the next write will report it.
  const work = () => look().catch(() => undefined);
  return startLoops(deps.log, [{ name: 'lane watch', everyMs: LOOK_EVERY_MS, work }]);
}
