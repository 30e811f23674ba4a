import type { Deps } from '../../deps.js';
import type { McpToolPlan } from '../../format/model.js';
import type { JsonObject } from '../../shared/json.js';
import type { ToolContext, ToolOutcome } from '../contract.js';

export type McpDeps = Pick<Deps, 'db' | 'blobs' | 'sandbox' | 'net' | 'config' | 'log'>;

/** A tool as its server lists it. Its texts are untrusted and limited in length. */
export interface ServerTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
  /** The server says that it changes nothing. */
  readonly readOnly: boolean;
}

/** One MCP server for one lane. Its failures are ServerFaults. */
export interface Server {
  /** Its tools, listed when they are unknown or have changed. */
  tools(context: ToolContext): Promise<readonly ServerTool[]>;
  call(call: ServerCall, context: ToolContext): Promise<ToolOutcome>;
}

export interface ServerCall {
  readonly tool: ServerTool;
  readonly args: JsonObject;
}

/**
 * The servers of one lane, while this worker advances it. A local one is started once and kept for later steps. A
 * remote one is disconnected at each step's end; its list of tools is kept.
 */
export interface LaneServers {
  /** Throws BadArgument when the step lacks a secret that the server needs. */
  find(plan: McpToolPlan, context: ToolContext): Promise<Server>;
  /** Called at a step's end: from then on no request carries that step's secrets. */
  leaveStep(): Promise<void>;
  /** Resolves when every process is gone. */
  close(): Promise<void>;
}

/** Why a server cannot do what is asked, as a sentence for the model. */
export class ServerFault extends Error {
  override readonly name = 'ServerFault';

  constructor(
    message: string,
    /** True when it may have acted all the same. */
    readonly mayHaveActed = false,
  ) {
    super(message);
  }
}
