import { isRecord, type Json, type JsonObject } from '../../shared/json.js';
import type { Plan } from '../../workspace/model.js';

/** What a test of a tool needs: the column `spec` of its row. */
export interface ToolTestSpec {
  readonly revision: string;
  /** Of the account's library; left out by builds that knew none. */
  readonly librarySeq?: number;
  /** A plan of the agent that calls it. */
  readonly plan: Plan;
  readonly agent: string;
  readonly tool: string;
  /** One of the tool's operations; null for a tool that is one thing alone. */
  readonly operation: string | null;
  readonly args: JsonObject;
}

/** What came of it: the column `result`. */
export interface ToolTestResult {
  readonly text: string;
  readonly isError: boolean;
  /** HTTP's, or a program's exit status. */
  readonly status: number | null;
  readonly truncated: boolean;
  readonly durationMs: number;
}

/** The row's columns were written by this very code, of this build or of one beside it. */
export function parseToolTest(spec: Json): ToolTestSpec {
  if (!isRecord(spec) || !isRecord(spec.plan)) throw new Error('a tool test has a spec that this build cannot read');
  return spec as unknown as ToolTestSpec;
}
