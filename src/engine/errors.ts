import { Refusal, type RefusalKind } from '../shared/refusal.js';

/** Transient refusals: the same work may succeed later, so its retries are not limited. */
const TRANSIENT: readonly RefusalKind[] = ['unavailable', 'rate_limited'];

export function isTransient(error: unknown): boolean {
  return error instanceof Refusal && TRANSIENT.includes(error.kind);
}

/** A later attempt holds this lane: this one must not write or start anything. */
export class Fenced extends Error {
  override readonly name = 'Fenced';
  constructor() {
    super('a later attempt holds this lane');
  }
}

/** The run has ended (stopped, or failed elsewhere) while this lane was active. */
export class Ended extends Error {
  override readonly name = 'Ended';
  constructor() {
    super('the run has ended');
  }
}

/** The next call exceeds what is left of the run's budget. */
export class OverBudget extends Error {
  override readonly name = 'OverBudget';
}

/** A claim came too late: a newer turn or attempt holds the lane. */
export class StaleTurn extends Error {
  override readonly name = 'StaleTurn';
}

/** Another worker carries on the run's first advance: ask again soon. */
export class CarriedElsewhere extends Error {
  override readonly name = 'CarriedElsewhere';

  constructor(worker: string) {
    super(`worker ${worker} still carries on the first advance of this run`);
  }
}

/** The process died too often in the same call, which is therefore not repeated: see `Deaths`. */
export class Poison extends Error {
  override readonly name = 'Poison';
}

export type FailureClass = 'timeout' | 'tool' | 'model' | 'other';

/** A step failed. People see the message; `retry: { on }` matches the class. */
export class StepFailure extends Error {
  override readonly name = 'StepFailure';

  constructor(
    message: string,
    readonly failureClass: FailureClass = 'other',
  ) {
    super(message);
  }
}

/** A person refused to raise the budget: its run fails, regardless of its steps' failure rules. */
export class BudgetRefused extends Error {
  override readonly name = 'BudgetRefused';

  constructor(
    /** The run that owns the budget: the lane's run, or one above it. */
    readonly runId: string,
    message: string,
  ) {
    super(message);
  }
}

/**
 * The provider refused the context as too long. The first refusal compacts the context, the next one fails the step.
 */
export class ContextOverflow extends StepFailure {
  constructor(
    message: string,
    /** The model that refused it. */
    readonly model: { readonly name: string; readonly contextTokens: number },
  ) {
    super(message, 'model');
  }
}
