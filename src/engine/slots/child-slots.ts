import type { Plan } from '../../format/model.js';
import type { Json } from '../../shared/json.js';
import { StepFailure } from '../errors.js';
import type { Lane } from '../lane/lane.js';
import { slotOf } from './slot-of.js';

interface Child {
  readonly id: string;
  readonly plan: Plan;
  readonly step: string;
  readonly input: Json;
}

/**
 * The slots that a child needs: those of the runs above it, and its own when its flow has `concurrency`. For its own it
 * waits in line whatever `on_limit` says. None in an eval. Under a run that holds a slot of the same key it shares that
 * one, since that run waits for it.
 */
export async function childSlots(lane: Lane, { id, plan, step, input }: Child): Promise<readonly string[]> {
  const above = lane.run.slots ?? [];
  if (lane.laneCase !== null) return above;
  const claim = slotOf(plan, { input, trigger: { kind: 'subflow', step } });
  if (claim === null) return above;
  if ('fault' in claim) throw new StepFailure(claim.fault);
  const [shared] =
    above.length === 0
      ? []
      : await lane.deps.db.query('SELECT 1 FROM slot WHERE run_id = ANY($1) AND key = $2', [above, claim.key]);
  return shared ? above : [...above, id];
}
