import type { Json } from '../../shared/json.js';
import type { Assertion } from '../assertions/assertion.js';
import type { CASE_OPTIONS, EVAL_KEYS } from './keys/eval-keys.js';
import type { KeyValues } from './read-keys.js';

export interface ReadDecision {
  /** A step's id; behind a `/` that of a step in its subflow. */
  readonly step: string;
  readonly offset: number;
  readonly decision: 'approve' | 'reject' | 'event';
  readonly note?: string;
  readonly event?: Json;
}

export interface ReadCanned {
  /** `tool` or `tool.operation`. */
  readonly tool: string;
  readonly offset: number;
  readonly answer: Json;
}

export interface ReadExpectation {
  readonly offset: number;
  readonly assertion: Assertion;
}

export interface ReadCase {
  readonly title: string;
  readonly offset: number;
  readonly options: KeyValues<typeof CASE_OPTIONS>;
  readonly input: Json;
  readonly decisions: readonly ReadDecision[];
  readonly canned: readonly ReadCanned[];
  readonly expect: readonly ReadExpectation[];
}

export interface ReadEval {
  readonly kind: 'eval';
  readonly name: string;
  readonly keys: KeyValues<typeof EVAL_KEYS>;
  readonly cases: readonly ReadCase[];
}
