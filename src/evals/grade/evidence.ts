import type { Json } from '../../shared/json.js';

/** What assertions look at: a step, or the run as a whole. */
export interface Subject {
  /** `the run`, `the step draft`. */
  readonly name: string;
  readonly status: string;
  /** Its result; the run's is its last step's that has one. Null when there is none. */
  readonly text: string | null;
  readonly data?: Json;
  readonly event?: Json;
  readonly decision?: Json;
  /** Null when a model without a known price answered. */
  readonly costUsd: number | null;
  readonly latencyMs: number | null;
  /** What was called in it and in the runs below it, by `tool` or `tool.operation`, in order. */
  readonly tools: readonly string[];
}

/** All that is known of a case's run once it has ended. */
export interface CaseEvidence {
  readonly task: Json;
  readonly run: Subject;
  /** Why the run failed; null when it did not, or was parked. */
  readonly error: string | null;
  /** Somebody stopped it. */
  readonly stopped: boolean;
  /** By the path of ids: behind a `/` those of a subflow. */
  readonly steps: ReadonlyMap<string, Subject>;
  /** Where it ended without a decision. */
  readonly parked: readonly { readonly step: string; readonly kind: string }[];
  /** The roots of CEL: `input`, `steps`, `trigger`, `run`. */
  readonly roots: Readonly<Record<string, Json>>;
  readonly files: readonly { readonly path: string; readonly size: number }[];
}

/** What a test found. `holds` is null when it cannot be told: that is never a pass, negated or not. */
export interface Finding {
  readonly holds: boolean | null;
  readonly evidence: string;
}

export interface GradedAssertion {
  readonly text: string;
  readonly passed: boolean;
  readonly evidence: string;
}
