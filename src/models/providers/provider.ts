import type { ModelReply, ModelRequest } from '../contract.js';

/** How a provider is reached in one call. */
export interface Connection {
  readonly baseUrl: string;
  /** Empty when the endpoint takes none. */
  readonly key: string;
  /** The call's own: its bytes are watched by it, see watchCall. */
  readonly signal: AbortSignal;
  /** Of text, reasoning and arguments together. */
  readonly maxContentBytes: number;
}

/** Token counts as the provider tells them, not yet believed. */
export interface ToldUsage {
  readonly input: number | undefined;
  readonly output: number | undefined;
  readonly cached: number | undefined;
  readonly cacheWrite: number | undefined;
}

export interface ProviderReply extends Pick<ModelReply, 'text' | 'calls' | 'finish' | 'opaque'> {
  /** Reasoning that came within the text: it counts as output. */
  readonly thought?: string;
  readonly usage: ToldUsage;
  /** What the provider says the call cost, in USD. */
  readonly costUsd: number | null;
}

/** One entry of the table of providers. */
export interface Provider {
  /** Null when the operator must give one. */
  readonly baseUrl: string | null;
  /** The usual variable of its key, for `<provider>/<model>`. */
  readonly keyVariable: string | null;
  /** Its id in the shipped price table; null when the base URL decides. */
  readonly priceId: string | null;
  /** False for what runs in this process: no circuit, nothing to pay. */
  readonly remote: boolean;
  call(request: ModelRequest, connection: Connection): Promise<ProviderReply>;
}
