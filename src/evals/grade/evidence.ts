import type { Json } from '../../shared/json.js';

/** What an assertion tests: a step, or the run as a whole. */
export interface Subject {
  /** `the run` or `the step draft`. */
  readonly name: string;
  readonly status: string;
  /** The result. For a run, that of its last step with one. Null when there is none. */
  readonly text: string | null;
  readonly data?: Json;
  readonly event?: Json;
  readonly decision?: Json;
  /** Null when a model without a known price answered. */
  readonly costUsd: number | null;
  readonly latencyMs: number | null;
  /** Calls in it and in the runs below it, as `tool` or `tool.operation`, in order. */
  readonly tools: readonly string[];
}

/** Everything known about a case's run after its end. */
export interface CaseEvidence {
  readonly task: Json;
  readonly run: Subject;
  /** Why the run failed; null when it did not fail, or was parked. */
  readonly error: string | null;
  /** True if a person stopped the run. */
  readonly stopped: boolean;
  /** By path of ids; the part behind a `/` is in a subflow. */
  readonly steps: ReadonlyMap<string, Subject>;
  /** Steps that the run ended at without a decision. */
  readonly parked: readonly { readonly step: string; readonly kind: string }[];
  /** The roots of CEL: `input`, `steps`, `trigger`, `run`. */
  readonly roots: Readonly<Record<string, Json>>;
  readonly files: readonly { readonly path: string; readonly size: number }[];
}

/** The result of a test. `holds` is null when it cannot be determined, which is never a pass, negated or not. */
export interface Finding {
  readonly holds: boolean | null;
  readonly evidence: string;
}
