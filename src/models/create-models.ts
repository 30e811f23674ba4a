import type { Deps } from '../deps.js';
import { callModel } from './calling/call-model.js';
import { createCircuits } from './calling/circuit.js';
import { type Catalogue, entryOf, readCatalogue } from './catalogue/catalogue.js';
import { resolveModel } from './catalogue/resolve-model.js';
import { ModelError, type Models } from './contract.js';

const IDLE_MS = 120_000;
const TOTAL_MS = 30 * 60_000;
const OPEN_MS = 30_000;

interface ModelsDeps extends Pick<Deps, 'config' | 'log' | 'clock'> {
  /** Silence after which a stream is abandoned, unless the model's entry sets `idleSeconds`. */
  readonly idleMs?: number;
  /** How long the circuit of a failing endpoint stays open. */
  readonly openMs?: number;
}

/** Creates the port for the configured models. Throws an Error that names every fault of SERVICE_MODELS_FILE. */
export function createModels({ config, log, clock, idleMs = IDLE_MS, openMs = OPEN_MS }: ModelsDeps): Models {
  const catalogue = readCatalogue(config.models);
  const totalMs = config.models.callTimeoutMs ?? TOTAL_MS;
  const circuits = createCircuits(clock, openMs);
  return {
    resolve: (name, aliases) => resolveModel(catalogue, name, aliases),
    call: async (request) => {
      const { via = request.model.name, name } = request.model;
      const entry = entryOf(catalogue, via);
      if (!entry) throw new ModelError('refused', `model ${name} is no longer configured (it was ${via})`);
      return callModel({ log, clock, circuits, idleMs, totalMs }, entry, request);
    },
    waitMs: config.models.waitMs,
    known: () => known(catalogue),
    failing: () => circuits.failing(),
  };
}

function known({ operator, single, apiKeys }: Catalogue): ReturnType<Models['known']> {
  const keyed = Object.entries(apiKeys).flatMap(([provider, key]) => (key ? [provider] : []));
  return {
    aliases: [...(operator?.entries.keys() ?? [])],
    providers: [...keyed, 'scripted'],
    any: single !== null && operator === null,
  };
}
