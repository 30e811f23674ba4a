import { toNano } from '../../shared/money.js';
import type { ModelEntry } from '../catalogue/entry.js';
import type { ModelReply } from '../contract.js';
import { PROVIDERS } from '../providers/index.js';
import type { BelievedUsage } from './believe-usage.js';
import { tableCost } from './price-table.js';

/**
 * The cost of a call: the provider's number, else by the operator's prices, else by the shipped table, else unknown.
 */
export function costOf(
  entry: ModelEntry,
  { usage, cacheWrite }: BelievedUsage,
  reportedUsd: number | null,
): Pick<ModelReply, 'costNano' | 'costSource'> {
  if (reportedUsd !== null) return { costNano: toNano(reportedUsd), costSource: 'provider' };
  if (entry.price !== null) {
    const { input, output, cached } = entry.price;
    const usdPerMillion = (usage.input - usage.cached) * input + usage.cached * cached + usage.output * output;
    return { costNano: toNano(usdPerMillion / 1e6), costSource: 'operator' };
  }
  // Models in this process are free.
  if (!PROVIDERS[entry.provider].remote) return { costNano: 0n, costSource: 'table' };
  const priced = tableCost(entry, { ...usage, cacheWrite });
  return priced === null
    ? { costNano: null, costSource: 'none' }
    : { costNano: toNano(priced.total_price), costSource: 'table' };
}
