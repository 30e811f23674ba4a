import { calcPrice, type PriceCalculation } from '@pydantic/genai-prices';
import { Lru } from '../../shared/lru.js';
import type { ModelEntry } from '../catalogue/entry.js';
import { PROVIDERS } from '../providers/index.js';

export interface TableUsage {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly cacheWrite: number;
}

/**
 * The shipped table's cost of a call, in USD; null when it does not know the model. At a base URL of the operator only
 * the URL decides, since a known name may have any price there.
 */
export function tableCost(entry: ModelEntry, usage: TableUsage): PriceCalculation | null {
  const { priceId, baseUrl } = PROVIDERS[entry.provider];
  const where = entry.baseUrl ?? baseUrl;
  if (where === null) return null;
  const options = priceId !== null && where === baseUrl ? { providerId: priceId } : { providerApiUrl: where };
  const counts = {
    input_tokens: usage.input,
    output_tokens: usage.output,
    cache_read_tokens: usage.cached,
    cache_write_tokens: usage.cacheWrite,
  };
  try {
    return calcPrice(counts, entry.id, options);
  } catch {
    // The library throws where a model has no price for one of the counts.
    return null;
  }
}

const SAMPLE = 1_000;

interface TablePrice {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly contextTokens: number | null;
}

/** The table ships with the build, so its answers never change; a search costs a millisecond. */
const prices = new Lru<string, { readonly price: TablePrice | null }>(500);

/** Nano-USD a token at a small prompt's rates, and the context window where the table knows it. */
export function tablePrice(entry: ModelEntry): TablePrice | null {
  const key = `${entry.provider} ${entry.baseUrl ?? ''} ${entry.id}`;
  return (prices.get(key) ?? prices.set(key, { price: findPrice(entry) })).price;
}

function findPrice(entry: ModelEntry): TablePrice | null {
  const plain = tableCost(entry, { input: SAMPLE, output: SAMPLE, cached: 0, cacheWrite: 0 });
  if (plain === null) return null;
  const cached = tableCost(entry, { input: SAMPLE, output: SAMPLE, cached: SAMPLE, cacheWrite: 0 });
  return {
    input: perToken(plain.input_price),
    output: perToken(plain.output_price),
    cached: perToken(cached?.input_price ?? plain.input_price),
    contextTokens: plain.model.context_window ?? null,
  };
}

/** Rounds to a millionth of a nano-dollar, the precision of sums of floats. */
function perToken(usd: number): number {
  return Math.round((usd / SAMPLE) * 1e15) / 1e6;
}
