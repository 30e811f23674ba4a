/**
 * The typed workspace: the content of a tree without errors. Everything here is plain JSON, since plans are stored and
 * outlive the code that made them. So fields are only ever added.
 */
import type { Json, JsonObject } from '../shared/json.js';
import type { Assertion } from './assertions/assertion.js';

/** One file of a tree: a canonical path and its bytes. */
export interface SourceFile {
  readonly path: string;
  readonly content: Uint8Array;
  /** The git type of an entry that is not a regular file; such entries are refused. */
  readonly link?: 'symlink' | 'submodule';
}

export interface Issue {
  readonly path: string;
  /** 1-based. */
  readonly line: number;
  /** 1-based, in UTF-16 code units. */
  readonly column: number;
  readonly code: string;
  readonly severity: 'error' | 'warning';
  readonly message: string;
  readonly hint?: string;
}

/** Text with marks: format.md, rule 2. */
export type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'value'; readonly path: string }
  | { readonly kind: 'link'; readonly target: string; readonly heading?: string; readonly label?: string };
export type Text = readonly Piece[];

export interface RetryPlan {
  /** Maximum number of attempts, the first one included. */
  readonly max: number;
  readonly waitMs: number;
  readonly backoff: number;
  /** Empty means any failure. */
  readonly on: readonly ('timeout' | 'tool' | 'model')[];
}

export interface GatePlan {
  /** `human`, `owner`, `role:<role>` or an email address. */
  readonly approvers: readonly string[];
  readonly need: number | 'all';
  readonly self: boolean;
  /** Step ids whose result the decider may change. */
  readonly edit: readonly string[];
  readonly form?: JsonObject;
  /** The form as JSON text: jsonb, which stores the plan, does not keep the order of keys. Missing in older plans. */
  readonly formText?: string;
  readonly remindMs?: number;
  readonly escalate?: { readonly afterMs: number; readonly to: string };
  readonly timeoutMs?: number;
  /** `reject`, `fail`, `continue`, or the id of an earlier step. */
  readonly onTimeout: string;
  /** `stop`, `continue`, or the id of an earlier step. */
  readonly onReject: string;
}

export type WaitPlan =
  | { readonly kind: 'event'; readonly timeoutMs?: number; readonly onTimeout: string }
  | { readonly kind: 'timer'; readonly ms: number };

export interface StepPlan {
  readonly kind: 'step';
  /** 1…N in document order over the leaves. */
  readonly n: number;
  readonly id: string;
  /** The id in runs of earlier versions, where it is another one. */
  readonly oldId?: string;
  readonly title: string;
  readonly agent?: string;
  readonly subflow?: string;
  readonly with?: JsonObject;
  readonly instruction: Text;
  readonly output: 'text' | 'json';
  /** JSON Schema 2020-12. */
  readonly schema?: JsonObject;
  /** CEL sources. */
  readonly when?: string;
  readonly until?: string;
  readonly each?: { readonly list: string; readonly as: string; readonly parallel: number };
  readonly backTo?: string;
  readonly maxRounds?: number;
  readonly retry?: RetryPlan;
  readonly budgetUsd?: number;
  /** Limits the doer's active time. In a step that parks, see `gate` and `wait`. */
  readonly timeoutMs?: number;
  /** `stop`, `continue`, or the id of an earlier step. */
  readonly onFail: string;
  readonly model?: string;
  readonly tools?: readonly string[];
  readonly secrets: readonly string[];
  readonly wait?: WaitPlan;
  readonly gate?: GatePlan;
}

export interface GroupPlan {
  readonly kind: 'group';
  readonly id: string;
  readonly oldId?: string;
  readonly title: string;
  readonly when?: string;
  readonly join: 'all' | 'any';
  /** Placed before each branch's instruction. */
  readonly preface: Text;
  readonly branches: readonly StepPlan[];
}

export type PlanNode = StepPlan | GroupPlan;

interface ToolBase {
  readonly name: string;
  readonly description: string;
  /** The file's path in the tree. */
  readonly path: string;
  /** Names in `${…}` placeholders. */
  readonly secrets: readonly string[];
}

export interface ScriptToolPlan extends ToolBase {
  readonly transport: 'script';
  /** The program: a file beside tool.md (by blob), or the fenced code of the body with its language. */
  readonly program:
    | { readonly kind: 'file'; readonly path: string }
    | { readonly kind: 'code'; readonly language: string; readonly code: string };
  /** Argument name to meaning. */
  readonly args: Readonly<Record<string, string>>;
  readonly timeoutSeconds?: number;
  readonly runtime: JsonObject;
  /** Every file of the tool's folder, by path in the tree and blob sha. */
  readonly files: readonly { readonly path: string; readonly sha: string }[];
}

export interface HttpToolPlan extends ToolBase {
  readonly transport: 'http';
  readonly base?: string;
  readonly methods: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly openapi?: string;
  readonly timeoutMs?: number;
  readonly notes: string;
}

export interface McpToolPlan extends ToolBase {
  readonly transport: 'mcp';
  /** The transport of a remote server; when left out, both are tried. */
  readonly via?: 'http' | 'sse';
  readonly url?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly command?: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

export type ToolPlan = ScriptToolPlan | HttpToolPlan | McpToolPlan;

export interface SkillPlan {
  readonly name: string;
  readonly description: string;
  readonly path: string;
  readonly sha: string;
}

export interface AgentPlan {
  readonly name: string;
  readonly description: string;
  readonly path: string;
  readonly prompt: Text;
  /** Built-in tools that are enabled: `Read Write Edit Glob Grep Bash run_agent ask_human save_to_storage`. */
  readonly builtins: readonly string[];
  readonly tools: readonly ToolPlan[];
  /** As granted in the file, `tool.operation` included. */
  readonly grants: readonly string[];
  /** Disabled tools and operations; missing in plans of older releases. */
  readonly disallowed?: readonly string[];
  readonly skills: readonly SkillPlan[];
  readonly model?: string;
  readonly secrets: readonly string[];
  /** Paths of knowledge files pinned into the prompt. */
  readonly knowledge: readonly string[];
  /** The folder that the agent may write, `memory/<x>/`; null for read-only. */
  readonly memory: string | null;
  readonly agents: readonly string[];
  readonly approve: readonly string[];
  readonly budgetUsd?: number;
  readonly maxTurns: number;
  readonly timeoutMs?: number;
  readonly network: readonly string[];
  readonly runtime: JsonObject;
  readonly config: JsonObject;
  /** The blob of agents/<name>/script.yaml, which the scripted provider plays. */
  readonly script?: { readonly path: string; readonly sha: string };
}

/** What a run is pinned to: one flow, or one agent alone, with all that it can reach. */
export interface Plan {
  readonly version: 1;
  /** A flow's name, or `agents/<name>`. */
  readonly flow: string;
  readonly description: string;
  readonly brief: Text;
  readonly nodes: readonly PlanNode[];
  readonly steps: number;
  /** JSON Schema of the input when the flow declares one. */
  readonly input?: JsonObject;
  readonly enabled: boolean;
  readonly triggers: readonly string[];
  readonly trigger: JsonObject;
  readonly budgetUsd?: number;
  readonly onBudget: 'stop' | 'ask';
  readonly secrets: readonly string[];
  readonly timeoutMs?: number;
  readonly concurrency?: {
    readonly limit: number;
    readonly key?: string;
    readonly onLimit: 'queue' | 'skip' | 'cancel';
  };
  readonly tags: readonly string[];
  readonly notify?: JsonObject;
  readonly agents: Readonly<Record<string, AgentPlan>>;
  readonly workspace: {
    readonly instructions: Text;
    readonly timezone?: string;
    readonly budgetUsd?: number;
    /** Alias to the ids to try, in order. */
    readonly models: Readonly<Record<string, readonly string[]>>;
    readonly network: readonly string[];
    readonly runtime: JsonObject;
    readonly notify?: JsonObject;
  };
}

/** A case's answer to a gate or a wait. */
export interface EvalDecision {
  /** A step's id; behind a `/` that of a step in its subflow. */
  readonly step: string;
  readonly decision: 'approve' | 'reject' | 'event';
  readonly note?: string;
  readonly event?: Json;
}

export interface EvalCase {
  readonly title: string;
  /** 1-based line of its heading. */
  readonly line: number;
  readonly tags: readonly string[];
  readonly skip: boolean;
  /** Share of its repeats that must pass. */
  readonly threshold: number;
  readonly repeat: number;
  readonly timeoutMs?: number;
  readonly live: boolean;
  readonly input: Json;
  readonly decisions: readonly EvalDecision[];
  /** Canned results by `tool` or `tool.operation`, in the order in which they answer; the last repeats. */
  readonly tools: Readonly<Record<string, readonly Json[]>>;
  /** Empty means the default judge. */
  readonly expect: readonly Assertion[];
}

export interface EvalPlan {
  readonly name: string;
  readonly path: string;
  readonly description: string;
  /** `flows/<name>` or `agents/<name>`: a key of `plans`. */
  readonly target: string;
  readonly judge?: string;
  readonly budgetUsd?: number;
  readonly tags: readonly string[];
  readonly trigger: 'push' | 'manual';
  readonly cases: readonly EvalCase[];
}

export interface FlowSummary {
  readonly name: string;
  readonly path: string;
  readonly description: string;
  readonly triggers: readonly string[];
  readonly enabled: boolean;
  readonly steps: number;
  readonly agents: readonly string[];
  readonly schedule: { readonly cron: string; readonly timezone?: string } | null;
}

/** A tree without errors, as readers and runs need it. */
export interface Workspace {
  readonly description: string;
  readonly timezone: string | null;
  readonly budgetUsd: number | null;
  readonly notify: Json;
  readonly counts: Readonly<Record<'agents' | 'flows' | 'evals' | 'tools' | 'skills', number>>;
  readonly flows: readonly FlowSummary[];
  readonly agents: readonly { readonly name: string; readonly path: string; readonly description: string }[];
  readonly documents: readonly { readonly path: string; readonly title: string; readonly description: string }[];
  readonly evals: readonly EvalPlan[];
  /** Target (`flows/<name>` or `agents/<name>`) to its plan. */
  readonly plans: Readonly<Record<string, Plan>>;
}

/** The outcome of reading a tree. With an error in `issues`, `workspace` is null. */
export interface Checked {
  readonly workspace: Workspace | null;
  readonly issues: readonly Issue[];
  /** URLs that the service itself will call. Whether it may depends on the installation. */
  readonly urls: readonly UrlPlace[];
}

/** A URL in a file of the tree, with the code for an issue about it. */
export interface UrlPlace extends Pick<Issue, 'path' | 'line' | 'column' | 'code'> {
  readonly url: string;
}

/** What a check knows besides the tree. */
export interface CheckContext {
  /** Paths under memory/ state/ storage/ files/ outputs/ that exist outside the tree. */
  readonly livePaths: readonly string[];
  /** Names of secrets in reach; null when unknown, which disables `ref/secret`. */
  readonly secrets: readonly string[] | null;
  /** Hosts that the operator opened: secrets may be sent there over plain http. */
  readonly openHosts?: readonly { readonly host: string; readonly port: number | null }[];
  /** Whether a model name resolves, and has a price; null disables `ref/model`. */
  readonly models: {
    readonly aliases: readonly string[];
    readonly providers: readonly string[];
    readonly any: boolean;
  } | null;
}

/** A group's branches, or the step itself. */
export function branchesOf(node: PlanNode): readonly StepPlan[] {
  return node.kind === 'group' ? node.branches : [node];
}

export function leavesOf(plan: Plan): StepPlan[] {
  return plan.nodes.flatMap(branchesOf);
}
