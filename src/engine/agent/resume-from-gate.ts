import { type Lane, parkId, type StepState, writeStep } from '../lane/lane.js';

/**
 * A step whose tool calls a decision has released is at work again. The time it was parked does not count against its
 * timeout, so this comes before its clock is set.
 */
export function resumeFromGate(lane: Lane, state: StepState): void {
  const { writer } = lane;
  if (writer.state !== 'parked') return;
  const mark = parkId(lane, state, `tool.${state.attempts}.`);
  const gates = [...lane.parks.values()].filter((park) => park.id.startsWith(mark));
  const [park] = gates.sort((a, b) => b.opened - a.opened);
  if (!park) return;
  const parkedMs = Math.max(0, lane.deps.clock.now() - park.opened);
  writer.memory = { ...writer.memory, since: (writer.memory.since ?? park.opened) + parkedMs };
  if (!park.decided) return;
  writer.state = 'running';
  state.status = 'running';
  writeStep(lane, state);
}
