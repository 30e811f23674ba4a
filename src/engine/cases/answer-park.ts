import type { EvalDecision } from '../../format/model.js';
import type { Json } from '../../shared/json.js';
import type { LanePark } from '../journal/claim.js';
import { type Lane, parkId, type StepState } from '../lane/lane.js';
import type { ParkRequest } from '../steps/park-on.js';

const BY = { kind: 'eval', id: 'eval', label: 'the eval’s case' };

/** Which decisions of a case apply to a park of each kind. A timer in an eval ends at once. */
const ANSWERS = {
  approval: ({ decision }) => decision !== 'event',
  event: ({ decision }) => decision === 'event',
  timer: () => false,
} as const satisfies Record<ParkRequest['kind'], (decision: EvalDecision) => boolean>;

/**
 * Decides a park by the eval's case; null outside evals, and where the case decides nothing. Several decisions on one
 * step apply to its rounds in order, and the last one to all later rounds. A case never grants more money.
 */
export function answerPark(lane: Lane, state: StepState, request: ParkRequest): LanePark | null {
  const { laneCase } = lane;
  if (laneCase === null || request.mark.startsWith('budget')) return null;
  if (request.kind === 'timer') return decidedPark(lane, state, request, { decision: 'timer' });
  const path = [...laneCase.above, state.id].join('/');
  const answers = laneCase.decisions.filter((one) => one.step === path && ANSWERS[request.kind](one));
  const own = answers[Math.min(state.round, answers.length) - 1];
  return own ? decidedPark(lane, state, request, own) : null;
}

interface CaseAnswer {
  readonly decision: string;
  readonly note?: string;
  readonly event?: Json;
}

function decidedPark(lane: Lane, state: StepState, request: ParkRequest, answer: CaseAnswer): LanePark {
  const now = lane.deps.clock.now();
  const { kind } = request;
  recordDecision(lane, state, kind, answer);
  return {
    id: parkId(lane, state, request.mark),
    step: state.id,
    item: state.item,
    round: state.round,
    kind,
    opened: now,
    due: null,
    remind: null,
    escalate: null,
    decided: true,
    decidedAt: now,
    decision: answer.decision,
    decidedBy: BY,
    note: answer.note ?? null,
    payload: answer.event ?? null,
    digests: null,
    budget: null,
  };
}

const EVENTS = {
  approval: 'approval.decided',
  event: 'event.received',
  timer: 'timer.elapsed',
} as const satisfies Record<ParkRequest['kind'], string>;

function recordDecision(lane: Lane, state: StepState, kind: ParkRequest['kind'], { decision, note }: CaseAnswer): void {
  lane.writer.event(EVENTS[kind], {
    step: state.id,
    item: state.item,
    round: state.round,
    decision,
    by: BY.label,
    text: `decided by ${BY.label}: ${decision}`,
    note: note ?? null,
  });
}
