import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../../src/platform/config/index.js';

/** The model `small`, of that context, served at the address: what compaction is tried on. `large` differs in its context alone. */
export function smallModel(baseUrl: string, contextTokens: number): Config['models'] {
  const file = join(mkdtempSync(join(tmpdir(), 'small-model-')), 'models.yaml');
  const small = {
    provider: 'openai-compatible',
    model: 'fake',
    baseUrl,
    key: 'SMALL_KEY',
    contextTokens,
    priceIn: 1,
    priceOut: 10,
  };
  writeFileSync(
    file,
    JSON.stringify({ default: 'small', models: { small, large: { ...small, contextTokens: 1_000_000 } } }),
  );
  return { file, single: null, apiKeys: {}, waitMs: 0, env: (name) => (name === 'SMALL_KEY' ? 'k' : undefined) };
}

/** Where the engine asked from, by the call's idempotency key. */
export function placeOfKey(key: string | null): { readonly turn: number; readonly isSummary: boolean } {
  const parts = (key ?? '').split('/');
  return { turn: Number(parts[5] ?? 0), isSummary: parts.at(-1) === 'summary' };
}
