import { type Lane, parkId, type StepState, writeStep } from '../lane/lane.js';

/**
 * The step goes on where an advance before this one left it. A park between, or a
 * worker that was away, does not count against its timeout, and a time for which it was put off does; so this comes
 * before its clock is set. A step whose tool calls or
 * whose money a decision has released is at work again.
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
