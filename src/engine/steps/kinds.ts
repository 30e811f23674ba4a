import type { StepPlan } from '../../format/model.js';
import type { Json } from '../../shared/json.js';
import type { Stop } from '../../workflows/contract.js';
import type { Lane, Outcome, StepState } from '../lane/lane.js';

/** A doer's answer: its result, or the stop that the lane waits at. */
export type Done =
  | { readonly kind: 'done'; readonly result: string | null; readonly data?: Json }
  | { readonly kind: 'stop'; readonly stop: Stop };

/** Does the work of a step. Throws StepFailure. */
export type Doer = (lane: Lane, step: StepPlan, state: StepState) => Promise<Done>;

/** Waits after a step's doer is done; null when the step continues. Throws StepFailure. */
export type RunPark = (lane: Lane, step: StepPlan, state: StepState) => Promise<Outcome | null>;
