import type { ModelReply, ModelRequest } from '../contract.js';

/** The connection of one call to a provider. */
export interface Connection {
  readonly baseUrl: string;
  /** Empty when the endpoint needs none. */
  readonly key: string;
  /** The call's own signal, which also identifies its watch, see watchCall. */
  readonly signal: AbortSignal;
  /** Of text, reasoning and arguments together. */
  readonly maxContentBytes: number;
}

/** Token counts as the provider reports them, not checked yet. */
export interface ReportedUsage {
  readonly input: number | undefined;
  readonly output: number | undefined;
  readonly cached: number | undefined;
  readonly cacheWrite: number | undefined;
}

export interface ProviderReply extends Pick<ModelReply, 'text' | 'calls' | 'finish' | 'opaque'> {
  /** Reasoning that came within the text. It counts as output. */
  readonly thought?: string;
  readonly usage: ReportedUsage;
  /** The cost that the provider reports, in USD. */
  readonly costUsd: number | null;
}

/** One entry of the table of providers. */
export interface Provider {
  /** Null when the operator must set one. */
  readonly baseUrl: string | null;
  /** The usual variable of its key, for `<provider>/<model>`. */
  readonly keyVariable: string | null;
  /** Its id in the shipped price table; null when the base URL decides. */
  readonly priceId: string | null;
  /** False for a provider in this process: no circuit, no cost. */
  readonly remote: boolean;
  call(request: ModelRequest, connection: Connection): Promise<ProviderReply>;
}
