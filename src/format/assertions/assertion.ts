/** All types of `### Expect`. A line without one of these types is a statement for the judge. */
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
  /** True for `not-…`: it holds when the type's own test does not. */
  readonly not: boolean;
  /** The tested step, from `step(<id>):`; without it, the end of the run. */
  readonly step?: string;
  /** `type(arg)`: the judge's model. */
  readonly arg?: string;
  /** The text, pattern, statement, expression, tool, status or step; '' for `is-json`. */
  readonly value: string;
  /** `cost` in USD, `latency` in milliseconds: the upper bound. */
  readonly bound?: number;
}

export type AssertionResult =
  | { readonly ok: true; readonly assertion: Assertion /** For a nearly known type. */; readonly warning?: string }
  | { readonly ok: false; readonly message: string };
