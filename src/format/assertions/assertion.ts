/** The closed set: what a line of `### Expect` may test. A line that is none of these is a statement for the judge. */
export const ASSERTION_TYPES = [
  'contains',
  'icontains',
  'equals',
  'starts-with',
  'regex',
  'is-json',
  'judge',
  'cel',
  'cost',
  'latency',
  'tool-called',
  'status',
  'parked-at',
] as const;
export type AssertionType = (typeof ASSERTION_TYPES)[number];

export interface Assertion {
  readonly type: AssertionType;
  /** `not-…` was written: it holds when the type's own test does not. */
  readonly not: boolean;
  /** The step that is looked at, from `step(<id>):`; the run's end without it. */
  readonly step?: string;
  /** `type(arg)`: the judge's model. */
  readonly arg?: string;
  /** The text, pattern, statement, expression, tool, status or step; '' for `is-json`. */
  readonly value: string;
  /** `cost` in USD, `latency` in milliseconds: the upper bound. */
  readonly bound?: number;
}

export type AssertionResult =
  | { readonly ok: true; readonly assertion: Assertion /** A near-miss of a known type. */; readonly warning?: string }
  | { readonly ok: false; readonly message: string };
