import { failpoint } from '../../shared/failpoint.js';
import type { Stop } from '../../workflows/contract.js';
import type { LaneWrite } from '../journal/batch.js';
import { isIdle, type Lane } from '../lane/lane.js';
import { forkName } from '../lane/lane-plan.js';
import { supersedeLanes } from '../rows/supersede-lanes.js';

/**
 * Creates the lanes of a fork in one write: one for each branch (null), or one for each item. A fork without lanes
 * counts as joined.
 */
export async function openFork(
  lane: Lane,
  node: string,
  round: number,
  lanes: readonly LaneWrite['item'][],
): Promise<void> {
  const fork = forkName(lane.name, node, round);
  lane.writer.batch.lanes.push(...lanes.map((item, index) => ({ lane: `${fork}.${index + 1}`, item })));
  lane.writer.phase = 'doer';
  lane.writer.state = 'forked';
  await lane.writer.flush();
  failpoint('forked');
}

export function forkStop(
  lane: Lane,
  node: { readonly id: string; readonly join?: 'all' | 'any' },
  round: number,
  count: number,
  parallel: number = count,
): Stop {
  const fork = forkName(lane.name, node.id, round);
  const ended = endedLanes(lane, fork);
  return {
    kind: 'fork',
    fork,
    count,
    parallel,
    join: node.join ?? 'all',
    ...(ended.length === 0 ? {} : { ended }),
  };
}

/** The number of lanes of the fork that this lane is at. */
export function lanesOf(lane: Lane, node: string, round: number): number {
  const prefix = `${forkName(lane.name, node, round)}.`;
  return lane.children.filter((child) => child.lane.startsWith(prefix)).length;
}

function endedLanes(lane: Lane, fork: string): number[] {
  return lane.children
    .filter((child) => child.lane.startsWith(`${fork}.`) && !isOpen(child))
    .map((child) => Number(child.lane.slice(fork.length + 1)))
    .sort((a, b) => a - b);
}

function isOpen({ state }: Lane['children'][number]): boolean {
  return state !== 'done' && state !== 'failed';
}

export type Joined =
  | { readonly kind: 'open' }
  | { readonly kind: 'joined' }
  | { readonly kind: 'failed'; readonly error: string };

/**
 * The state of a fork. `all`: the lane that failed first fails the fork, once its siblings have ended. `any`: the first
 * completed lane wins, and the open work of the others is superseded; a lane whose step was skipped cannot win.
 */
export async function followFork(lane: Lane, node: string, round: number, join: 'all' | 'any'): Promise<Joined> {
  const prefix = `${forkName(lane.name, node, round)}.`;
  const lanes = lane.children.filter((child) => child.lane.startsWith(prefix));
  const open = lanes.filter(isOpen);
  if (join === 'any' && lanes.some((child) => child.state === 'done' && !isIdle(lane.steps, child.lane))) {
    if (open.length > 0) {
      await supersedeLanes(
        lane.deps.db,
        lane.run.id,
        open.map((child) => child.lane),
      );
    }
    return { kind: 'joined' };
  }
  if (open.length > 0) return { kind: 'open' };
  const [failed] = lanes
    .filter((child) => child.state === 'failed')
    .sort((a, b) => (a.failedAt ?? Number.POSITIVE_INFINITY) - (b.failedAt ?? Number.POSITIVE_INFINITY));
  if (!failed) return { kind: 'joined' };
  return { kind: 'failed', error: failed.error ?? 'a branch failed' };
}
