import type { RunPark } from './kinds.js';
import { parkOn } from './park-on.js';

/** A `wait: 2h` park: a durable timer of the workflow. Its tick decides the park. */
export const runTimer: RunPark = async (lane, step, state) => {
  const { wait } = step;
  if (wait?.kind !== 'timer') throw new Error(`step ${step.id} has no timer`);
  const parked = await parkOn(lane, state, {
    kind: 'timer',
    mark: 'timer',
    spec: { title: step.title, n: step.n },
    need: 1,
    timeoutMs: wait.ms,
  });
  return 'stop' in parked ? { kind: 'stop', stop: parked.stop } : null;
};
