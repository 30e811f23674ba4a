import type { AgentPlan, Plan, StepPlan } from '../format/model.js';
import type { ToolSpec } from '../models/contract.js';
import type { Sql } from '../platform/db/contract.js';
import type { ProgramSecrets } from '../secrets/index.js';
import type { Json, JsonObject } from '../shared/json.js';
import type { Redactor } from '../shared/redact.js';
import type { LaneServers } from './mcp/contract.js';

/** What a step may use of the vaults. Values stay in the worker, but for what its programs are given. */
export interface StepSecrets {
  /** Redacts secrets from a text. Call it late: it learns of tokens as they are fetched. */
  hide(): Redactor;
  /** The current value of `${NAME}`; null when the step may not use it. Throws a Refusal when it is unavailable. */
  value(name: string): Promise<string | null>;
  /** What programs are given. `folder` is one of the host in which a socket for them may be made. */
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
  /** Memory files this run has read, by path, with the sha it saw: kept over replays by the journal. */
  readonly seen: ReadonlyMap<string, string>;
  /** Results of earlier steps, which Read shows under `steps/<id>.md`. */
  readonly results: ReadonlyMap<string, string>;
  /** The ids that steps had in earlier versions: Read takes them too. */
  readonly oldIds?: ReadonlyMap<string, string>;
  readonly secrets: StepSecrets;
  /** Tool results that have left the model's context, by the path that it was given for each; null for another. */
  readonly saved?: (path: string) => Promise<string | null>;
  readonly signal: AbortSignal;
  /** Throws when this attempt no longer holds its lane. Call it first in every transaction that writes. */
  readonly guard: (sql: Sql) => Promise<void>;
  /** Receives programs' output as it comes. */
  readonly onOutput?: (chunk: string) => void;
  /** Writes an event of the step: what is made ready for it, and what it cannot use. */
  readonly emit?: (type: ToolEvent, data: JsonObject) => void;
  /** The canned results that replace granted tools, in a run of an eval. */
  readonly standIn?: StandIn | null;
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
  /** True when files were left in the lane, though nothing of the world was acted on: they are stored with the call. */
  readonly left?: boolean;
  /** What the trace shows besides: exit code, duration, killed. */
  readonly detail?: { readonly [key: string]: Json };
}

export interface AgentTool {
  /** As files name it: a built-in's name, a tool's, or `tool.operation`. The model has `spec.name`. */
  readonly ref: string;
  readonly spec: ToolSpec;
  /** True when repeating this call could repeat an effect. */
  acts(args: JsonObject): boolean;
  /** True for what starts programs: at most four at a time a run. */
  readonly program: boolean;
  /** True where an eval's case answers: nothing acts, so no approval is needed. */
  readonly canned?: true;
  /** Why it cannot be used now; its calls answer this. */
  readonly fault?: string;
  run(args: JsonObject, context: CallContext): Promise<ToolOutcome>;
}

/** One operation of a granted tool. The transport lists them; `assembleTools` names them. */
export interface Operation extends Omit<AgentTool, 'ref' | 'spec'> {
  /** Why it cannot be used in this step. */
  readonly unusable?: string;
  /** As its document or server names it; null for a tool that is one thing alone. */
  readonly operation: string | null;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: JsonObject;
}

/** The canned results that replace granted tools in a run of an eval. */
export interface StandIn {
  /** Whether a call without a canned result reaches the world. */
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
