import { readFileSync } from 'node:fs';
import type { Deps } from '../../deps.js';
import { errorMessage } from '../../shared/refusal.js';
import { PROVIDERS } from '../providers/index.js';
import { type ModelEntry, SINGLE } from './entry.js';
import { type OperatorEntry, type OperatorModels, parseOperatorFile } from './operator-file.js';

type ModelsConfig = Deps['config']['models'];

/** All configured models. */
export interface Catalogue {
  readonly operator: OperatorModels | null;
  /** The model of `SERVICE_LLM_MODEL`. */
  readonly single: ModelEntry | null;
  readonly apiKeys: ModelsConfig['apiKeys'];
}

/**
 * Reads `SERVICE_MODELS_FILE` and the `SERVICE_LLM_*` variables. Throws an Error that names every fault of the file.
 */
export function readCatalogue(config: ModelsConfig): Catalogue {
  return {
    operator: config.file === null ? null : parseOperatorFile(readFile(config.file), config.file, config.env),
    single: config.single === null ? null : singleEntry(config.single),
    apiKeys: config.apiKeys,
  };
}

function readFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`SERVICE_MODELS_FILE cannot be read: ${errorMessage(error)}`);
  }
}

function singleEntry(single: NonNullable<ModelsConfig['single']>): ModelEntry {
  const { priceIn, priceOut } = single;
  return {
    via: SINGLE,
    provider: 'openai-compatible',
    id: single.model,
    baseUrl: single.baseUrl,
    key: single.apiKey,
    contextTokens: null,
    price: priceIn === null || priceOut === null ? null : { input: priceIn, output: priceOut, cached: priceIn },
    idleMs: null,
    totalMs: null,
  };
}

/** The entry of a resolved model, found by its `via`: a ResolvedModel is plain data without the key. */
export function entryOf(catalogue: Catalogue, via: string): OperatorEntry | ModelEntry | undefined {
  if (via === SINGLE && catalogue.single) return catalogue.single;
  return catalogue.operator?.entries.get(via) ?? directEntry(catalogue, via);
}

/** The entry of `<provider>/<model>` at the provider's own address; undefined when the name has another form. */
export function directEntry({ apiKeys }: Catalogue, name: string): ModelEntry | undefined {
  const [, kind, id] = /^([a-z-]+)\/(.+)$/.exec(name) ?? [];
  if (id === undefined || (kind !== 'openai' && kind !== 'anthropic' && kind !== 'google' && kind !== 'scripted')) {
    return undefined;
  }
  const key = kind === 'scripted' ? null : (apiKeys[kind] ?? null);
  return {
    via: name,
    provider: kind,
    id,
    baseUrl: PROVIDERS[kind].baseUrl,
    key,
    contextTokens: null,
    price: null,
    idleMs: null,
    totalMs: null,
  };
}
