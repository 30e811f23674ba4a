import type { Deps } from '../../../deps.js';
import type { Queue } from '../../../platform/db/index.js';
import { InFlight } from '../../../shared/in-flight.js';
import { beginMirrors } from './mirror-due.js';

/** Each push takes some git processes; one account gets half of the slots at most. */
const LIMITS = { atOnce: 4, each: 2 };

/** Updates the mirrors. The end of the process stops a running push, which another worker then retries. */
export function mirrorQueue(deps: Deps): Queue {
  const at = new InFlight(LIMITS, (error) => deps.log.warn({ err: error }, 'failed to record the outcome of a mirror'));
  return {
    nextDue: 'SELECT min(due_at) FROM mirror WHERE done < wanted',
    work: (signal) => beginMirrors(deps, at, signal),
    end: () => at.idle(),
  };
}
