import { leavesOf } from '../../format/model.js';
import type { Stop } from '../../workflows/contract.js';
import { countChildren } from '../steps/child-run.js';
import { runGroup } from '../steps/group.js';
import { runStep } from '../steps/run-step.js';
import { deadlineOf, isOverdue } from './deadline.js';
import { endOf, type Lane, type Outcome, writeStep } from './lane.js';

/** Executes the lane's nodes from its position to its next stop. */
export async function walk(lane: Lane): Promise<Stop> {
  // The first write has this event before any other content, so it is written exactly once, even after a crash.
  if (lane.name === 'main' && !lane.run.begun) lane.writer.event('run.started');
  for (;;) {
    if (isOverdue(lane)) return expire(lane);
    const node = lane.lanePlan.nodes[lane.writer.pos];
    if (!node) return endLane(lane, { kind: 'next' });
    const outcome = await (node.kind === 'group' ? runGroup(lane, node) : runStep(lane, node));
    if (outcome.kind === 'stop') return withinDeadline(lane, outcome.stop);
    if (outcome.kind === 'overdue') continue;
    const ended = outcome.kind === 'fail' ? outcome : move(lane, outcome);
    if (ended) return endLane(lane, ended);
    if (lane.leaving()) {
      await lane.writer.flush();
      return { kind: 'again' };
    }
  }
}

/** A wait ends at the run's deadline at the latest. */
function withinDeadline(lane: Lane, stop: Stop): Stop {
  const deadline = deadlineOf(lane);
  return stop.kind === 'later' && deadline !== null ? { ...stop, at: Math.min(stop.at, deadline) } : stop;
}

/** The flow's timeout counts from the run's start, including parks: the current step fails with the run. */
async function expire(lane: Lane): Promise<Stop> {
  const error = 'the run took longer than its timeout';
  for (const step of lane.steps.values()) {
    if (step.lane !== lane.name || (step.status !== 'running' && step.status !== 'waiting')) continue;
    await countChildren(lane, step);
    step.status = 'failed';
    step.error = error;
    writeStep(lane, step, 'step.failed', { error });
  }
  return endLane(lane, { kind: 'fail', error });
}

/** Moves the lane's position. Returns a failure when the target is not in this lane, else null. */
function move(lane: Lane, outcome: Extract<Outcome, { kind: 'next' | 'goto' }>): Outcome | null {
  const { writer } = lane;
  if (outcome.kind === 'next') writer.pos += 1;
  else {
    const target = lane.lanePlan.nodes.findIndex((node) => node.id === outcome.target);
    if (target < 0) return { kind: 'fail', error: `cannot go back to ${outcome.target} from here` };
    writer.pos = target;
  }
  writer.phase = 'start';
  writer.state = 'running';
  writer.tries = 1;
  const {
    since: _since,
    child: _child,
    handed: _handed,
    notBefore: _notBefore,
    held: _held,
    inLineSince: _inLine,
    unavailable: _reported,
    ...kept
  } = writer.memory;
  writer.memory = kept;
  return null;
}

async function endLane(lane: Lane, outcome: Outcome): Promise<Stop> {
  const { writer } = lane;
  const error = outcome.kind === 'fail' ? outcome.error : null;
  writer.state = error === null ? 'done' : 'failed';
  writer.error = error;
  if (lane.name === 'main') {
    const status = error === null ? 'completed' : 'failed';
    writer.event(`run.${status}`, error === null ? {} : { error });
    writer.batch.end = { status, error, summary: summaryOf(lane) };
  }
  await writer.flush();
  return { kind: error === null ? endOf(lane) : 'failed' };
}

/** The first line of the last step that produced a result; null when the run produced none. */
function summaryOf(lane: Lane): string | null {
  for (const step of leavesOf(lane.plan).reverse()) {
    const result = lane.steps.get(step.id)?.result;
    const line = result?.split('\n').find((text) => text.trim() !== '');
    if (line !== undefined) return line.trim().slice(0, 300);
  }
  return null;
}
