import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ModelRequest, ResolvedModel } from '../../src/models/contract.js';
import { createModels } from '../../src/models/index.js';
import type { Config } from '../../src/platform/config/index.js';
import type { Log } from '../../src/shared/log.js';

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => silent };

export const nothingConfigured: Config['models'] = {
  file: null,
  single: null,
  apiKeys: {},
  waitMs: 0,
  env: () => undefined,
};

/** One model for everything, at an address. */
export function single(baseUrl: string, more: Partial<NonNullable<Config['models']['single']>> = {}): Config['models'] {
  const entry = { baseUrl, apiKey: 'sk-secret-key', model: 'fake-model', priceIn: null, priceOut: null };
  return { ...nothingConfigured, single: { ...entry, ...more } };
}

/** Real models of a configuration. A moved clock and a short patience where a test needs them. */
export function modelsOf(models: Config['models'], more: { now?: () => number; idleMs?: number } = {}) {
  const { now = () => Date.now(), ...rest } = more;
  return createModels({ config: { models } as Config, log: silent, clock: { now }, ...rest });
}

/** Models of an operator's file with this text; the variables are what the file may name. */
export function modelsOfFile(
  text: string,
  env: Readonly<Record<string, string>> = {},
  more: Partial<Config['models']> = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'models-'));
  const file = join(folder, 'models.yaml');
  writeFileSync(file, text);
  try {
    return modelsOf({ ...nothingConfigured, file, env: (name) => env[name], ...more });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

let keys = 0;

/** A plain request: one user message, no tools. */
export function ask(model: ResolvedModel | undefined, more: Partial<ModelRequest> = {}): ModelRequest {
  if (!model) throw new Error('no model to ask');
  keys += 1;
  return {
    model,
    system: 'You are a test.',
    messages: [{ role: 'user', text: 'Say something.' }],
    tools: [],
    idempotencyKey: `key-${keys}`,
    signal: new AbortController().signal,
    ...more,
  };
}
