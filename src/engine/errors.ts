import { Refusal, type RefusalKind } from '../shared/refusal.js';

/** Refusals of these kinds pass: the same work may succeed later, however often it was tried. */
const PASSING: readonly RefusalKind[] = ['unavailable', 'rate_limited'];

export function isPassing(error: unknown): boolean {
  return error instanceof Refusal && PASSING.includes(error.kind);
}

/** A later attempt holds this lane: this one must write nothing and begin nothing. */
export class Fenced extends Error {
  override readonly name = 'Fenced';
  constructor() {
    super('a later attempt holds this lane');
  }
}

/** The run has ended (stopped, failed elsewhere) while this lane was at work. */
export class Ended extends Error {
  override readonly name = 'Ended';
  constructor() {
    super('the run has ended');
  }
}

/** The next call does not fit into what the run's budget has left. */
export class OverBudget extends Error {
  override readonly name = 'OverBudget';
}

/** A claim that came too late: a newer turn or attempt was there first. */
export class StaleTurn extends Error {
  override readonly name = 'StaleTurn';
}

/** The process died three times in the same call: it is not tried again. */
export class Poison extends Error {
  override readonly name = 'Poison';
}

export type FailureClass = 'timeout' | 'tool' | 'model' | 'other';

/** A step could not do its work. Its text is shown to people; its class is what `retry: { on }` names. */
export class StepFailure extends Error {
  override readonly name = 'StepFailure';

  constructor(
    message: string,
    readonly failureClass: FailureClass = 'other',
  ) {
    super(message);
  }
}

/** Somebody was asked for more money and said no: that run fails, whatever its steps would do about a failure. */
export class BudgetRefused extends Error {
  override readonly name = 'BudgetRefused';

  constructor(
    /** Whose budget it was: the run itself, or one above it. */
    readonly runId: string,
    message: string,
  ) {
    super(message);
  }
}

/** The provider says that the context of the call is too long. It is compacted once; after that it fails the step. */
export class ContextOverflow extends StepFailure {
  constructor(
    message: string,
    /** The model that said so. */
    readonly model: { readonly name: string; readonly contextTokens: number },
  ) {
    super(message, 'model');
  }
}
