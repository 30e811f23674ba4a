import type { JsonObject } from '../shared/json.js';

/** A model a call may use: an entry of the operator's file, or a provider's model by id. */
export interface ResolvedModel {
  /** What people named: an alias or `<provider>/<model>`. */
  readonly name: string;
  readonly provider: ProviderKind;
  /** The configured entry that serves it (an operator's alias, a provider's name, `SERVICE_LLM_MODEL`); `name` when left out. */
  readonly via?: string;
  /** The model's id at the provider. */
  readonly id: string;
  /** Context window in tokens. */
  readonly contextTokens: number;
  /** Nano-USD a token; null when no price is known, which is never the same as free. */
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

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** Parsed arguments; null when the provider sent what is no JSON object, then `raw` tells. */
  readonly args: JsonObject | null;
  readonly raw?: string;
}

export interface ToolResult {
  readonly callId: string;
  readonly name: string;
  readonly text: string;
  readonly isError: boolean;
}

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
  /** Unique to this call: sent to providers that take one. */
  readonly idempotencyKey: string;
  /** The schema that a JSON answer must match. The prompt tells models; the scripted provider answers an instance of it. */
  readonly schema?: JsonObject;
  /** What the scripted provider goes by; others ignore it. */
  readonly script?: ScriptPlace;
  readonly signal: AbortSignal;
  /** Called with each piece of text as it comes. */
  readonly onDelta?: (text: string) => void;
}

/** Where a run stands, for `script.yaml`. */
export interface ScriptPlace {
  /** The text of the agent's script.yaml; null when it has none. */
  readonly yaml: string | null;
  readonly agent: string;
  /** A summary of older turns is none of the script's turns. */
  readonly purpose?: 'turn' | 'summary';
  readonly step: string;
  /** The step's id in earlier versions, where it is another one: scripts may still use it. */
  readonly oldStep?: string | undefined;
  /** From 1. */
  readonly round: number;
  /** How many turns the transcript holds already, as in the journal: the first turn is 0. The script itself says 1. */
  readonly turn: number;
  /** Which try of this turn it is, from 1. */
  readonly attempt?: number;
  /** The step's instruction and the run's input; without them they are read from the first user message. */
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
  /** True when the provider told no believable token counts, so that `usage` is reckoned from lengths. */
  readonly estimated: boolean;
  /** Nano-USD; null when no price is known. */
  readonly costNano: bigint | null;
  readonly costSource: 'provider' | 'operator' | 'table' | 'none';
  /** Kept with the transcript and sent back to the same provider (reasoning signatures and such). */
  readonly opaque?: JsonObject;
}

export type ModelErrorKind =
  | 'overloaded' // 429, 503, 529: wait, then again
  | 'transient' // 408, other 5xx, a cut stream, no connection
  | 'refused' // 400, 401, 403, 404, 422: final, with the provider's words
  | 'overflow' // the context does not fit
  | 'aborted';

export interface ModelErrorDetails {
  /** What the provider asked for, in ms; for a circuit, until its next probe. */
  readonly retryAfterMs?: number | null;
  /** True when the request itself was refused: another model would be sent the same. */
  readonly ours?: boolean;
  /** True when nobody was asked, since the endpoint's circuit is open. */
  readonly circuit?: boolean;
  /** What happened without the provider's words, which may repeat what it was sent: for pages that everybody may read. */
  readonly brief?: string;
  /** What a call that broke off within its answer is reckoned to cost; null when nothing of an answer came. */
  readonly cut?: CutUsage | null;
}

/** Reckoned from what was sent and what came, unless the provider told counts before it broke off. */
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

/** An endpoint whose last calls failed, as this process knows it. Times are ms since 1970. */
export interface EndpointHealth {
  readonly endpoint: string;
  /** True while its circuit is open: it is not asked. */
  readonly open: boolean;
  /** Of the first of its failures in a row. */
  readonly since: number;
  /** When it is asked again; null while the circuit is closed. */
  readonly until: number | null;
  /** Without the provider's words and without keys. */
  readonly lastError: string;
}

export interface Models {
  /**
   * The models to try, in order, for a name (alias of the workspace, alias of the operator, `<provider>/<model>`)
   * or for the default when it is null. Throws a Refusal `refused` whose text says what to configure.
   */
  resolve(name: string | null, aliases: Readonly<Record<string, readonly string[]>>): readonly ResolvedModel[];
  /** One call, streamed. Throws ModelError only. */
  call(request: ModelRequest): Promise<ModelReply>;
  /** How long one call is waited for while its providers fail in passing, in ms. */
  readonly waitMs: number;
  /** For `ref/model` at deploy. `any`: every name resolves. `providers`: those that `<provider>/<model>` can name now. */
  known(): { readonly aliases: readonly string[]; readonly providers: readonly string[]; readonly any: boolean };
  /** Endpoints whose last call failed, for healthz and observe; one that answers is none of them. */
  failing(): readonly EndpointHealth[];
}
