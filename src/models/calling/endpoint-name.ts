import type { ModelEntry } from '../catalogue/entry.js';
import { PROVIDERS } from '../providers/index.js';

/** The display name of an endpoint: `openai`, or `openai-compatible at http://host:port/path`, without credentials. */
export function endpointName(entry: ModelEntry): string {
  if (entry.baseUrl === null || entry.baseUrl === PROVIDERS[entry.provider].baseUrl) return entry.provider;
  if (!URL.canParse(entry.baseUrl)) return entry.provider;
  const { origin, pathname } = new URL(entry.baseUrl);
  return `${entry.provider} at ${origin}${pathname.replace(/\/+$/, '')}`;
}
