import { type Lane, parkId, type StepState, writeStep } from '../lane/lane.js';

/**
 * The step continues where an earlier advance left it. A park, or an absent worker, does not count against its timeout;
 * a wait for a provider does. So this comes before its clock is set. A step whose tool calls or budget were approved is
 * running again.
 */
export function resumeStep(lane: Lane, state: StepState): void {
  const { writer } = lane;
  const now = lane.deps.clock.now();
  const { since = now, at = since, notBefore = 0 } = writer.memory;
  const awayMs = Math.max(0, now - Math.max(at, since, notBefore));
  writer.memory = { ...writer.memory, since: since + awayMs, at: now };
  if (writer.state !== 'parked') return;
  const marks = [`tool.${state.attempts}.`, 'budget.'].map((mark) => parkId(lane, state, mark));
  const gates = [...lane.parks.values()].filter((park) => marks.some((mark) => park.id.startsWith(mark)));
  if (gates.length === 0 || gates.some((park) => !park.decided)) return;
  writer.state = 'running';
  state.status = 'running';
  writeStep(lane, state);
}
