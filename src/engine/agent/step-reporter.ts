import type { ToolContext } from '../../tools/contract.js';
import type { HeldUp } from '../journal/claim.js';
import type { Lane, StepState } from '../lane/lane.js';

type Report = NonNullable<ToolContext['emit']>;

/**
 * Writes preparations for a step, and tools that it cannot use, as events of the step at once: while a runtime is
 * prepared, the run shows that under `waiting`. An unavailable tool is reported once for each reason.
 */
export function stepReporter(lane: Lane, state: StepState): Report {
  const place = { step: state.id, item: state.item, round: state.round };
  return (type, data) => {
    const { writer } = lane;
    if (type === 'tool.unavailable') {
      const { unavailable = {} } = writer.memory;
      const [name, error] = [String(data.name), String(data.error)];
      if (unavailable[name] === error) return;
      writer.memory = { ...writer.memory, unavailable: { ...unavailable, [name]: error } };
    } else {
      const { held: _held, ...memory } = writer.memory;
      writer.memory = type === 'sandbox.preparing' ? { ...memory, held: preparingState(lane, state, data) } : memory;
    }
    writer.event(type, { ...place, ...data });
    writer.flushSoon();
  };
}

function preparingState({ deps }: Lane, { id: step, item }: StepState, { packages }: Parameters<Report>[1]): HeldUp {
  const since = deps.clock.now();
  return { kind: 'preparing', step, item, since, reason: `prepares the runtime: ${packages || 'interpreters'}` };
}
