import type { JsonObject } from '../shared/json.js';

/** A model that a call may use: an entry of the operator's file, or a provider's model by id. */
export interface ResolvedModel {
  /** The requested name: an alias or `<provider>/<model>`. */
  readonly name: string;
  readonly provider: ProviderKind;
  /**
   * The configured entry that serves it (an operator's alias, a provider's name, `SERVICE_LLM_MODEL`); defaults to
   * `name`.
   */
  readonly via?: string;
  /** The model's id at the provider. */
  readonly id: string;
  /** Context window in tokens. */
  readonly contextTokens: number;
  /** Nano-USD a token; null when the price is unknown, which never means free. */
  readonly price: {
    readonly input: number;
    readonly output: number;
    readonly cached: number;
    readonly source: 'operator' | 'table';
  } | null;
}

export type ProviderKind = 'openai-compatible' | 'openai' | 'anthropic' | 'google' | 'scripted';

export type ChatMessage =
  | { readonly role: 'user'; readonly text: string }
  | {
      readonly role: 'assistant';
      readonly text: string;
      readonly calls: readonly ToolCall[];
      readonly opaque?: JsonObject;
    }
  | { readonly role: 'tool'; readonly results: readonly ToolResult[] };

export type ToolCall = {
  readonly id: string;
  readonly name: string;
  /** Parsed arguments; null when the provider sent something other than a JSON object, which is then in `raw`. */
  readonly args: JsonObject | null;
  readonly raw?: string;
};

export type ToolResult = {
  readonly callId: string;
  readonly name: string;
  readonly text: string;
  readonly isError: boolean;
};

export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: JsonObject;
}

export interface ModelRequest {
  readonly model: ResolvedModel;
  readonly system: string;
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ToolSpec[];
  readonly temperature?: number;
  readonly maxOutputTokens?: number;
  /** Unique to this call; sent to providers that accept one. */
  readonly idempotencyKey: string;
  /**
   * The schema that a JSON answer must match. Models get it in the prompt; the scripted provider answers with an
   * instance of it.
   */
  readonly schema?: JsonObject;
  /** The place in the run that the scripted provider matches; others ignore it. */
  readonly script?: ScriptPlace;
  readonly signal: AbortSignal;
  /** Called with each piece of text as it comes. */
  readonly onDelta?: (text: string) => void;
}

/** The place in a run that entries of `script.yaml` match. */
export interface ScriptPlace {
  /** The text of the agent's script.yaml; null when it has none. */
  readonly yaml: string | null;
  readonly agent: string;
  /** `summary` marks a summary of older turns, which is not one of the script's turns. */
  readonly purpose?: 'turn' | 'summary';
  readonly step: string;
  /** The step's id in earlier versions, where it is another one: scripts may still use it. */
  readonly oldStep?: string | undefined;
  /** From 1. */
  readonly round: number;
  /** Number of turns in the transcript, as in the journal: the first turn is 0. In the script it is 1. */
  readonly turn: number;
  /** The try of this turn, from 1. */
  readonly attempt?: number;
  /** The step's instruction and the run's input; when left out, they are read from the first user message. */
  readonly instruction?: string;
  readonly input?: string;
}

export interface ModelUsage {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
}

export interface ModelReply {
  readonly text: string;
  readonly calls: readonly ToolCall[];
  readonly finish: 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'other';
  readonly usage: ModelUsage;
  /** True when the provider sent no credible token counts, so that `usage` is estimated from lengths. */
  readonly estimated: boolean;
  /** Nano-USD; null when the price is unknown. */
  readonly costNano: bigint | null;
  readonly costSource: 'provider' | 'operator' | 'table' | 'none';
  /** Stored with the transcript and sent back to the same provider, such as reasoning signatures. */
  readonly opaque?: JsonObject;
}

export type ModelErrorKind =
  | 'overloaded' // 429, 503, 529: wait, then again
  | 'transient' // 408, other 5xx, a cut stream, no connection
  | 'refused' // 400, 401, 403, 404, 422: final, with the provider's words
  | 'overflow' // the context does not fit
  | 'aborted';

export interface ModelErrorDetails {
  /** The wait that the provider asks for, in ms; for a circuit, until its next probe. */
  readonly retryAfterMs?: number | null;
  /** True when the request itself was refused, so that another model would refuse it too. */
  readonly ours?: boolean;
  /** True when no request was sent, since the endpoint's circuit is open. */
  readonly circuit?: boolean;
  /** The error without the provider's text, which may repeat parts of the request: for public pages. */
  readonly brief?: string;
  /** Estimated cost of a call whose stream broke off within the answer; null when no part of an answer came. */
  readonly cut?: CutUsage | null;
}

/** Estimated from the request and the partial answer, unless the provider sent counts before it broke off. */
export type CutUsage = Pick<ModelReply, 'usage' | 'costNano' | 'costSource'>;

export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly retryAfterMs: number | null;
  readonly ours: boolean;
  readonly circuit: boolean;
  readonly brief: string;
  readonly cut: CutUsage | null;

  constructor(
    readonly kind: ModelErrorKind,
    message: string,
    { retryAfterMs = null, ours = false, circuit = false, brief = message, cut = null }: ModelErrorDetails = {},
  ) {
    super(message);
    this.retryAfterMs = retryAfterMs;
    this.ours = ours;
    this.circuit = circuit;
    this.brief = brief;
    this.cut = cut;
  }
}

/** An endpoint whose last calls failed, as seen by this process. Times are ms since 1970. */
export interface EndpointHealth {
  readonly endpoint: string;
  /** True while its circuit is open and no calls are made. */
  readonly open: boolean;
  /** Time of the first of these failures. */
  readonly since: number;
  /** Time of the next try; null while the circuit is closed. */
  readonly until: number | null;
  /** Without the provider's text and without keys. */
  readonly lastError: string;
}

export interface Models {
  /**
   * The models to try, in order, for a name (alias of the workspace, alias of the operator, `<provider>/<model>`) or
   * for the default when it is null. Throws a Refusal `refused` whose text says what to configure.
   */
  resolve(name: string | null, aliases: Readonly<Record<string, readonly string[]>>): readonly ResolvedModel[];
  /** Makes one call, streamed. Throws ModelError only. */
  call(request: ModelRequest): Promise<ModelReply>;
  /** How long a call may wait while its providers fail with transient errors, in ms. */
  readonly waitMs: number;
  /**
   * The names that the check `ref/model` accepts at deploy. `any`: every name resolves. `providers`: those that
   * `<provider>/<model>` can name now.
   */
  known(): { readonly aliases: readonly string[]; readonly providers: readonly string[]; readonly any: boolean };
  /** Endpoints whose last call failed, for healthz and observe. */
  failing(): readonly EndpointHealth[];
}
