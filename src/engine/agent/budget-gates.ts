import type { LanePark } from '../journal/claim.js';
import { parkId } from '../lane/lane.js';
import type { Session } from './session.js';

/** The budget gates of this round of the step, oldest first. */
export function budgetGates({ lane, state }: Session): readonly LanePark[] {
  const mark = parkId(lane, state, 'budget.');
  const gates = [...lane.parks.values()].filter((park) => park.id.startsWith(mark));
  return gates.sort((a, b) => Number(a.id.slice(mark.length)) - Number(b.id.slice(mark.length)));
}

export function hasAskedForBudget(session: Session): boolean {
  return budgetGates(session).length > 0;
}
