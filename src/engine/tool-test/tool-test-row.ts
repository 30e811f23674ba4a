import type { Plan } from '../../format/model.js';
import { isRecord, type Json, type JsonObject } from '../../shared/json.js';

/** The column `spec` of a test's row. */
export interface ToolTestSpec {
  readonly revision: string;
  /** Revision of the account's library; left out by builds without libraries. */
  readonly librarySeq?: number;
  /** A plan of the agent that calls it. */
  readonly plan: Plan;
  readonly agent: string;
  readonly tool: string;
  /** One of the tool's operations; null for a tool without operations. */
  readonly operation: string | null;
  readonly args: JsonObject;
}

/** The column `result`. */
export interface ToolTestResult {
  readonly text: string;
  readonly isError: boolean;
  /** HTTP's, or a program's exit status. */
  readonly status: number | null;
  readonly truncated: boolean;
  readonly durationMs: number;
}

/** Not validated: the row's columns were written by this code, of this build or another live one. */
export function parseToolTest(spec: Json): ToolTestSpec {
  if (!isRecord(spec) || !isRecord(spec.plan)) throw new Error('a tool test has a spec that this build cannot read');
  return spec as unknown as ToolTestSpec;
}
