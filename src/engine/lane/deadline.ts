import type { Lane } from './lane.js';

/** The run's own deadline, parks included; null when it has none. Epoch ms. */
export function deadlineOf(lane: Lane): number | null {
  return lane.run.deadlineAt === null ? null : Date.parse(lane.run.deadlineAt);
}

export function isOverdue(lane: Lane): boolean {
  const deadline = deadlineOf(lane);
  return deadline !== null && lane.deps.clock.now() >= deadline;
}
