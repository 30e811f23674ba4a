import type { ProviderKind } from '../contract.js';

/**
 * A model as the operator configured it: `resolve` finds it and `call` connects with it. It never leaves this folder.
 */
export interface ModelEntry {
  /** The alias, `<provider>/<model>`, or `SERVICE_LLM_MODEL`. */
  readonly via: string;
  readonly provider: ProviderKind;
  readonly id: string;
  readonly baseUrl: string | null;
  readonly key: string | null;
  readonly contextTokens: number | null;
  /** USD a million tokens; null when the operator set none. */
  readonly price: { readonly input: number; readonly output: number; readonly cached: number } | null;
  readonly idleMs: number | null;
  /** Of a whole call. */
  readonly totalMs: number | null;
}

/** The entry that `SERVICE_LLM_MODEL` makes. */
export const SINGLE = 'SERVICE_LLM_MODEL';
