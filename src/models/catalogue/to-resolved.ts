import type { ResolvedModel } from '../contract.js';
import { tablePrice } from '../pricing/price-table.js';
import { PROVIDERS } from '../providers/index.js';
import type { ModelEntry } from './entry.js';

/**
 * Defaults where neither the operator nor the price table knows the context: that of hosted models, and that of small
 * local servers.
 */
const CONTEXT = { hosted: 128_000, compatible: 32_768, scripted: 1_000_000 };

/** The model's context by the operator or the price table; null when neither knows it. */
export function knownContext(entry: ModelEntry): number | null {
  const table = PROVIDERS[entry.provider].remote ? tablePrice(entry) : null;
  return entry.contextTokens ?? table?.contextTokens ?? null;
}

/** An entry as other folders see it: no key, no address; prices in nano-USD a token. */
export function toResolved(name: string, entry: ModelEntry): ResolvedModel {
  const table = PROVIDERS[entry.provider].remote ? tablePrice(entry) : null;
  return {
    name,
    provider: entry.provider,
    via: entry.via,
    id: entry.id,
    contextTokens: entry.contextTokens ?? table?.contextTokens ?? defaultContext(entry),
    price: priceOf(entry, table),
  };
}

function priceOf(entry: ModelEntry, table: ReturnType<typeof tablePrice>): ResolvedModel['price'] {
  if (entry.price !== null) {
    // USD a million tokens is 1,000 nano-USD a token.
    const { input, output, cached } = entry.price;
    return { input: input * 1_000, output: output * 1_000, cached: cached * 1_000, source: 'operator' };
  }
  if (!PROVIDERS[entry.provider].remote) return { input: 0, output: 0, cached: 0, source: 'table' };
  return table === null ? null : { input: table.input, output: table.output, cached: table.cached, source: 'table' };
}

function defaultContext({ provider }: ModelEntry): number {
  if (provider === 'scripted') return CONTEXT.scripted;
  return provider === 'openai-compatible' ? CONTEXT.compatible : CONTEXT.hosted;
}
