import type { GradedAssertion } from '../../contract/evals.js';
import type { Assertion } from '../../format/index.js';
import { errorMessage } from '../../shared/refusal.js';
import type { CaseEvidence, Finding, Subject } from './evidence.js';
import { TESTS, type TestedType } from './tests.js';

/** The assertion of a case that has none. */
const DEFAULT: Assertion = {
  type: 'judge',
  not: false,
  value: 'The output does what the task asks, completely, and says nothing that contradicts the task.',
};

/** A statement for the judge, with its index among the case's assertions. */
export interface Statement {
  readonly at: number;
  readonly assertion: Assertion;
}

export interface Plan {
  readonly assertions: readonly Assertion[];
  readonly statements: readonly Statement[];
}

export function assertionsOf(expect: readonly Assertion[]): Plan {
  const assertions = expect.length === 0 ? [DEFAULT] : expect;
  const statements = assertions.flatMap((assertion, at) => (assertion.type === 'judge' ? [{ at, assertion }] : []));
  return { assertions, statements };
}

/** True for a failed run without an assertion about its end: its results prove nothing. */
export function failedUnasked({ error }: CaseEvidence, assertions: readonly Assertion[]): boolean {
  return error !== null && !assertions.some(({ type, step }) => type === 'status' && step === undefined);
}

/** Grades each assertion; `verdicts` are the judge's, by the assertion's index. */
export function gradeCase(
  evidence: CaseEvidence,
  assertions: readonly Assertion[],
  verdicts: ReadonlyMap<number, Finding>,
): GradedAssertion[] {
  const graded = assertions.map((assertion, at) => toGraded(assertion, verdicts.get(at) ?? test(assertion, evidence)));
  if (!failedUnasked(evidence, assertions)) return graded;
  return [...graded, { text: 'status: completed', passed: false, evidence: `the run failed: ${evidence.error}` }];
}

/** Only true or false counts, inverted by `not-`. Null never passes. */
function toGraded(assertion: Assertion, { holds, evidence }: Finding): GradedAssertion {
  const passed = holds !== null && holds !== assertion.not;
  return { text: assertionText(assertion), passed, evidence };
}

function test(assertion: Assertion, evidence: CaseEvidence): Finding {
  if (assertion.type === 'judge') return { holds: null, evidence: 'not judged: the run failed' };
  const subject = subjectOf(assertion, evidence);
  try {
    return TESTS[assertion.type as TestedType](assertion, subject, evidence);
  } catch (error) {
    return { holds: null, evidence: `it cannot be tested: ${errorMessage(error)}` };
  }
}

/** The named step; one that was never reached is `pending`. */
export function subjectOf({ step }: Assertion, { run, steps }: CaseEvidence): Subject {
  if (step === undefined) return run;
  return steps.get(step) ?? { ...NEVER, name: `the step ${step}` };
}

const NEVER: Omit<Subject, 'name'> = { status: 'pending', text: null, costUsd: 0, latencyMs: null, tools: [] };

/** The share of assertions that hold. */
export function scoreOf(graded: readonly GradedAssertion[]): number {
  return graded.length === 0 ? 0 : graded.filter(({ passed }) => passed).length / graded.length;
}

/** An assertion as its line in the file. */
function assertionText({ type, not, step, arg, value }: Assertion): string {
  const scope = step === undefined ? '' : `step(${step}): `;
  if (type === 'judge' && !not && arg === undefined) return scope + value;
  const head = `${not ? 'not-' : ''}${type}${arg === undefined ? '' : `(${arg})`}`;
  return scope + (value === '' ? head : `${head}: ${value}`);
}
