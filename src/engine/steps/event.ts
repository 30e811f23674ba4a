import { StepFailure } from '../errors.js';
import { readParks } from '../journal/claim.js';
import { writeStep } from '../lane/lane.js';
import { goBack } from './fail-step.js';
import type { RunPark } from './kinds.js';
import { parkOn } from './park-on.js';

/** A `wait: event` park. Its row was written when the step started, so an early event is already there. */
export const runEvent: RunPark = async (lane, step, state) => {
  const { wait } = step;
  if (wait?.kind !== 'event') throw new Error(`step ${step.id} waits for no event`);
  await readPark(lane, state);
  const parked = await parkOn(lane, state, {
    kind: 'event',
    mark: 'event',
    spec: { title: step.title, n: step.n },
    need: 1,
    timeoutMs: wait.timeoutMs ?? null,
  });
  if ('stop' in parked) return { kind: 'stop', stop: parked.stop };
  if (parked.decided.decision === 'event') {
    state.eventPayload = parked.decided.payload ?? undefined;
    return null;
  }
  if (wait.onTimeout === 'continue') return null;
  if (wait.onTimeout === 'fail') throw new StepFailure('no event came in time', 'timeout');
  const outcome = goBack(lane, step, wait.onTimeout, 'no event came in time');
  if (!outcome) throw new StepFailure(`no event came in time, after ${step.maxRounds ?? 1} rounds`, 'timeout');
  state.status = 'completed';
  writeStep(lane, state, 'step.completed', { again: wait.onTimeout });
  return outcome;
};

/** The event may have come while the doer worked, after the row was read at the claim. */
async function readPark(lane: Parameters<RunPark>[0], state: Parameters<RunPark>[2]): Promise<void> {
  const fresh = await readParks(lane.deps.db, lane.run.id, lane.name);
  for (const park of fresh) if (park.step === state.id) lane.parks.set(park.id, park);
}
