import type { AgentPlan, Plan, StepPlan } from '../format/model.js';
import type { ToolSpec } from '../models/contract.js';
import type { Sql } from '../platform/db/contract.js';
import type { ProgramSecrets } from '../secrets/index.js';
import type { Json, JsonObject } from '../shared/json.js';
import type { Redactor } from '../shared/redact.js';
import type { LaneServers } from './mcp/contract.js';

/** The secrets that a step may use. Values stay in the worker, except those for the step's programs. */
export interface StepSecrets {
  /** The redactor of the step's secrets. Call it late, since it learns of tokens as they are fetched. */
  hide(): Redactor;
  /** The current value of `${NAME}`; null when the step may not use it. Throws a Refusal when it is unavailable. */
  value(name: string): Promise<string | null>;
  /** The secrets for programs. `folder` is a host folder for their socket. */
  forPrograms(folder: string): Promise<ProgramSecrets>;
}

/** The run, lane and step that a tool call belongs to. */
export interface ToolContext {
  readonly run: {
    readonly id: string;
    readonly tenantId: string;
    readonly workspaceId: string;
    readonly revision: string;
    readonly librarySeq: number;
    readonly flow: string;
    readonly mode: string;
  };
  readonly lane: string;
  readonly plan: Plan;
  readonly step: StepPlan;
  readonly agent: AgentPlan;
  /** Where the lane's folder is; the engine opens it before the step's first tool runs, see openLane. */
  readonly folder: LanePlace;
  /** Opens it earlier, for preparations at the step's start. */
  readonly openFolder: () => Promise<unknown>;
  /** The MCP servers of this lane. */
  readonly servers: LaneServers;
  /** Memory files that this run has read, by path, with the sha it saw. The journal restores them on replay. */
  readonly seen: ReadonlyMap<string, string>;
  /** Results of earlier steps, which Read shows under `steps/<id>.md`. */
  readonly results: ReadonlyMap<string, string>;
  /** The ids that steps had in earlier versions, which Read accepts too. */
  readonly oldIds?: ReadonlyMap<string, string>;
  readonly secrets: StepSecrets;
  /**
   * Reads a tool result that has left the model's context, by the path that the model was given; null for other paths.
   */
  readonly saved?: (path: string) => Promise<string | null>;
  readonly signal: AbortSignal;
  /** Throws when this attempt no longer holds its lane. Call it first in every transaction that writes. */
  readonly guard: (sql: Sql) => Promise<void>;
  /** Receives programs' output as it comes. */
  readonly onOutput?: (chunk: string) => void;
  /** Writes an event of the step: what is prepared for it, or unavailable. */
  readonly emit?: (type: ToolEvent, data: JsonObject) => void;
  /** The canned results that replace granted tools, in a run of an eval. */
  readonly cannedResults?: CannedResults | null;
}

export type ToolEvent = `sandbox.${'preparing' | 'prepared' | 'unprepared'}` | 'tool.unavailable';

/** A step's context for one call. */
export interface CallContext extends ToolContext {
  /** The idempotency key of this call: equal for its retries, different for other calls. */
  readonly callKey: string;
}

export interface ToolOutcome {
  /** What the model reads; cut by the engine at 30,000 characters. */
  readonly text: string;
  readonly isError: boolean;
  /** True when the middle of the text was left out. */
  readonly truncated?: boolean;
  /** Memory files that were read or written by this call, with the sha they have now. */
  readonly seen?: readonly { readonly path: string; readonly sha: string }[];
  /** A memory file that this call really changed. */
  readonly memoryWrite?: string;
  /** True when the call left files in the lane without acting outside: they are stored with the call. */
  readonly left?: boolean;
  /** Further fields of the trace: exit code, duration, killed. */
  readonly detail?: { readonly [key: string]: Json };
}

export interface AgentTool {
  /** The name in files: a built-in's, a tool's, or `tool.operation`. The model sees `spec.name`. */
  readonly ref: string;
  readonly spec: ToolSpec;
  /** True when repeating this call could repeat an effect. */
  acts(args: JsonObject): boolean;
  /** True for a tool that starts programs. At most four run at a time in a run. */
  readonly program: boolean;
  /** True when an eval's case answers: nothing acts, so no approval is needed. */
  readonly canned?: true;
  /** Why it cannot be used now; its calls answer this. */
  readonly fault?: string;
  run(args: JsonObject, context: CallContext): Promise<ToolOutcome>;
}

/** One operation of a granted tool. The transport lists them; `assembleTools` names them. */
export interface Operation extends Omit<AgentTool, 'ref' | 'spec'> {
  /** Why it cannot be used in this step. */
  readonly unusable?: string;
  /** The name in its document or server; null for a tool that is a single operation. */
  readonly operation: string | null;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: JsonObject;
}

/** The canned results that replace granted tools in a run of an eval. */
export interface CannedResults {
  /** Whether a call without a canned result executes the real tool. */
  readonly live: boolean;
  /** The tools that have one, by `tool` or `tool.operation`. */
  readonly tools: readonly string[];
  /** The canned result of this call; null when the case has none for the tool. */
  answer(tool: string, call: string): Promise<ToolOutcome | null>;
}

/** A lane's place on disk. `work` is the program's writable /work, with outputs/ and files/ in it. */
export interface LanePlace {
  readonly root: string;
  readonly work: string;
}

export interface LaneFolder extends LanePlace {
  /** True when it was recreated in the middle of a step: scratch files are gone, and a notice goes to the model. */
  readonly fresh: boolean;
}

/** A file that a step left, stored and indexed. */
export interface KeptFile {
  readonly path: string;
  readonly sha: string;
  readonly size: number;
}
