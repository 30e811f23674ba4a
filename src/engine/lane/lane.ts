import type { Deps } from '../../deps.js';
import type { Plan, StepPlan } from '../../format/model.js';
import type { Json } from '../../shared/json.js';
import type { LaneServers } from '../../tools/index.js';
import type { Stop } from '../../workflows/contract.js';
import type { LaneCase } from '../cases/lane-case.js';
import type { Batch, StepStatus, StepWrite } from '../journal/batch.js';
import type { ClaimedRun, LanePark, LaneView } from '../journal/claim.js';
import type { LaneWriter } from '../journal/lane-writer.js';
import type { SecretMask } from '../secrets/secret-mask.js';
import type { LanePlan } from './lane-plan.js';

/** A step's newest row, as the engine caches it. */
export interface StepState {
  readonly id: string;
  readonly item: number;
  readonly lane: string;
  round: number;
  status: StepStatus;
  attempts: number;
  result: string | null;
  data: Json | undefined;
  eventPayload: Json | undefined;
  decision: Json | undefined;
  /** For a step with `each`: how its items ended, in order. */
  items: Json | undefined;
  feedback: string | null;
  error: string | null;
  costNano: bigint;
  tokensIn: number;
  tokensOut: number;
  tokensCached: number;
  /** True until its first attempt has started: the journal has nothing of it. */
  isNew: boolean;
  /** Copied by a rerun. */
  readonly copied: boolean;
  /** The result of the previous round, which stays visible until this round has one. */
  previous: { readonly result: string; readonly data: Json | undefined } | null;
}

/** One lane while one attempt advances it. */
export interface Lane {
  readonly deps: Deps;
  readonly name: string;
  readonly run: ClaimedRun;
  readonly plan: Plan;
  readonly lanePlan: LanePlan;
  readonly writer: LaneWriter;
  /** The lane's item of an each, as it was when the step started; null elsewhere, and in lanes of older builds. */
  readonly item: { readonly value: Json } | null;
  /** The eval's case; null outside evals. */
  readonly laneCase: LaneCase | null;
  /** Masks the secrets that were opened in this lane. */
  readonly mask: SecretMask;
  /** Newest row by `<id>` for item 0, `<id>#<item>` for the items of an each. */
  readonly steps: Map<string, StepState>;
  readonly parks: Map<string, LanePark>;
  readonly children: LaneView['lanes'];
  /** Aborted when the run is stopped, the lane is taken over, or Temporal cancels the activity. */
  readonly signal: AbortSignal;
  /** MCP servers that its steps have connected to; they end with the advance. */
  readonly servers: LaneServers;
  /** True when the worker shuts down: stop at the next boundary. */
  readonly leaving: () => boolean;
}

/** The outcome of a step, or of a phase of it. */
export type Outcome =
  | { readonly kind: 'stop'; readonly stop: Stop }
  | { readonly kind: 'next' }
  /** The run's time ended during the step. */
  | { readonly kind: 'overdue' }
  | { readonly kind: 'goto'; readonly target: string }
  | { readonly kind: 'fail'; readonly error: string };

export function stepKey(id: string, item: number): string {
  return item === 0 ? id : `${id}#${item}`;
}

export function indexSteps(rows: LaneView['steps']): Map<string, StepState> {
  const steps = new Map<string, StepState>();
  for (const row of rows) {
    steps.set(stepKey(row.id, row.item), {
      id: row.id,
      item: row.item,
      lane: row.lane,
      round: row.round,
      status: row.status,
      attempts: row.attempts,
      result: row.result,
      data: row.data ?? undefined,
      eventPayload: row.event_payload ?? undefined,
      decision: row.decision ?? undefined,
      items: row.items ?? undefined,
      feedback: row.feedback,
      error: row.error,
      costNano: BigInt(row.cost_nano),
      tokensIn: row.tokens_in,
      tokensOut: row.tokens_out,
      tokensCached: row.tokens_cached,
      isNew: false,
      copied: row.copied,
      previous: previousWork(row.previous?.result ?? null, row.previous?.data ?? undefined),
    });
  }
  return steps;
}

function previousWork(result: string | null, data: Json | undefined): StepState['previous'] {
  return result === null ? null : { result, data };
}

/** A step's result as others see it: while a new round is active, that of the round before. */
export function shownWork(step: StepState): { readonly result: string | null; readonly data: Json | undefined } {
  const isAtWork = step.status === 'running' || step.status === 'waiting';
  return (isAtWork && step.result === null && step.previous) || step;
}

/** Adds the step's row, and its event, to the next write. */
export function writeStep(lane: Lane, step: StepState, event?: string, data: object = {}): void {
  const ended = step.status === 'completed' || step.status === 'failed' || step.status === 'skipped';
  const { batch } = lane.writer;
  const row = {
    id: step.id,
    item: step.item,
    round: step.round,
    status: step.status,
    attempts: step.attempts,
    result: step.result,
    data: step.data,
    event_payload: step.eventPayload,
    decision: step.decision,
    items: step.items,
    feedback: step.feedback,
    error: step.error,
    cost_nano: String(step.costNano),
    tokens_in: step.tokensIn,
    tokens_out: step.tokensOut,
    tokens_cached: step.tokensCached,
    ended,
  };
  // One statement may write a row once: a later version of the row replaces the earlier one.
  const at = batch.steps.findIndex(
    (other) => other.id === row.id && other.item === row.item && other.round === row.round,
  );
  if (at >= 0) batch.steps[at] = row;
  else batch.steps.push(row);
  if (ended) dropUnwrittenEvent(batch, row);
  if (event) lane.writer.event(event, { step: step.id, item: step.item, round: step.round, ...data });
}

/**
 * Drops the event park of a step that ends before its first write. A park that is already written is closed by the
 * write.
 */
function dropUnwrittenEvent({ parks }: Batch, step: Pick<StepWrite, 'id' | 'item' | 'round'>): void {
  const at = parks.findIndex(
    (park) => park.kind === 'event' && park.step === step.id && park.item === step.item && park.round === step.round,
  );
  if (at >= 0) parks.splice(at, 1);
}

/** Starts the next round of a step: a new row, so that earlier rounds stay. An item has its step's round. */
export function beginStep(lane: Lane, plan: { readonly id: string }, item: number, status: StepStatus): StepState {
  const before = lane.steps.get(stepKey(plan.id, item));
  const feedback = lane.writer.memory.feedback?.[plan.id] ?? null;
  if (feedback !== null) {
    const { [plan.id]: _taken, ...rest } = lane.writer.memory.feedback ?? {};
    lane.writer.memory = { ...lane.writer.memory, feedback: rest };
  }
  const step: StepState = {
    id: plan.id,
    item,
    lane: lane.name,
    round: Math.max((before?.round ?? 0) + 1, item === 0 ? 1 : (lane.steps.get(plan.id)?.round ?? 1)),
    status,
    attempts: 1,
    result: null,
    data: undefined,
    eventPayload: undefined,
    decision: undefined,
    items: undefined,
    feedback,
    error: null,
    costNano: 0n,
    tokensIn: 0,
    tokensOut: 0,
    tokensCached: 0,
    isNew: true,
    copied: false,
    previous: before ? previousWork(before.result, before.data) : null,
  };
  lane.steps.set(stepKey(plan.id, item), step);
  lane.writer.round = step.round;
  return step;
}

/** True for a lane whose only step was skipped: it does not take part in a race. */
export function isIdle(steps: Lane['steps'], lane: string): boolean {
  for (const step of steps.values()) if (step.lane === lane) return step.status === 'skipped';
  return false;
}

/** A lane's end for the workflow, which cancels a race's other lanes at the first that is done. */
export function endOf(lane: Pick<Lane, 'name' | 'steps' | 'lanePlan'>): 'done' | 'failed' {
  return lane.lanePlan.group?.join === 'any' && isIdle(lane.steps, lane.name) ? 'failed' : 'done';
}

/** The current step, whose row an earlier advance wrote. */
export function currentStep(lane: Lane, plan: StepPlan): StepState {
  const step = lane.steps.get(stepKey(plan.id, lane.lanePlan.item));
  if (!step) throw new Error(`step ${plan.id} has no row`);
  return step;
}

/** A park's id: one for each round of a step, shared by the attempts of the round. */
export function parkId(lane: Lane, step: StepState, kind: string): string {
  return [lane.run.id, step.id, step.item, step.round, kind].join('~');
}
