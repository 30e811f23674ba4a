import type { Json } from '../../shared/json.js';
import type { Stop } from '../../workflows/contract.js';
import type { StepPlan } from '../../workspace/model.js';
import type { Lane, Outcome, StepState } from '../lane/lane.js';

/** What a doer answers: what it made, or where the lane has to stop meanwhile. */
export type Done =
  | { readonly kind: 'done'; readonly result: string | null; readonly data?: Json }
  | { readonly kind: 'stop'; readonly stop: Stop };

/** Who works in a step. It throws StepFailure. */
export type Doer = (lane: Lane, step: StepPlan, state: StepState) => Promise<Done>;

/** What a step waits for once its doer is done; null when the step goes on. It throws StepFailure. */
export type RunPark = (lane: Lane, step: StepPlan, state: StepState) => Promise<Outcome | null>;
