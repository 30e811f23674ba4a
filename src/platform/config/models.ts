import { parseDuration } from '../../shared/duration.js';
import type { Config } from './config.js';
import { address, duration, type Parse, parsers, type Reader } from './reader.js';

const PROVIDER_KEYS = {
  openai: 'OPENAI_API_KEY',
  anthropic: 'ANTHROPIC_API_KEY',
  google: 'GOOGLE_GENERATIVE_AI_API_KEY',
} as const;

const WAIT_MS = 30 * 60_000;

const parseWait: Parse<number> = (text) => {
  const ms = text === '0' ? 0 : parseDuration(text);
  return ms === undefined
    ? { fault: `is "${text}" and must be a duration such as 90s, 30m or 2h, or 0 for no wait` }
    : { value: ms };
};

export function readModels(reader: Reader): Config['models'] {
  const apiKeys = Object.fromEntries(
    Object.entries(PROVIDER_KEYS).flatMap(([provider, variable]) => {
      const key = reader.text(variable);
      return key === null ? [] : [[provider, key]];
    }),
  );
  return {
    file: reader.text('SERVICE_MODELS_FILE'),
    single: readSingle(reader),
    apiKeys,
    waitMs: reader.read('SERVICE_MODEL_WAIT', parseWait, WAIT_MS),
    env: (name) => reader.text(name) ?? undefined,
    ...readCallTimeout(reader),
  };
}

const LONGEST_CALL_MS = 86_400_000;

function readCallTimeout(reader: Reader): Pick<Config['models'], 'callTimeoutMs'> {
  const callTimeoutMs = reader.read('SERVICE_MODEL_CALL_TIMEOUT', duration(LONGEST_CALL_MS), null);
  return callTimeoutMs === null ? {} : { callTimeoutMs };
}

/** One model behind an OpenAI-compatible endpoint: the shortest way to a real one. */
function readSingle(reader: Reader): Config['models']['single'] {
  const baseUrl = reader.read('SERVICE_LLM_BASE_URL', address('http://127.0.0.1:11434/v1', 'http', 'https'), null);
  const model = reader.text('SERVICE_LLM_MODEL');
  const apiKey = reader.text('SERVICE_LLM_API_KEY');
  const priceIn = reader.read('SERVICE_LLM_PRICE_IN', parsers.price, null);
  const priceOut = reader.read('SERVICE_LLM_PRICE_OUT', parsers.price, null);
  const hasUrl = reader.text('SERVICE_LLM_BASE_URL') !== null;
  if (hasUrl && model === null)
    reader.fault('SERVICE_LLM_MODEL', 'is needed beside SERVICE_LLM_BASE_URL: the model’s id at that endpoint');
  const others = [model, apiKey, priceIn, priceOut];
  if (!hasUrl && others.some((value) => value !== null)) {
    reader.fault(
      'SERVICE_LLM_BASE_URL',
      'is needed beside the other SERVICE_LLM_ variables: the address of an OpenAI-compatible endpoint, up to /v1',
    );
  }
  if ((priceIn === null) !== (priceOut === null)) {
    reader.fault(
      priceIn === null ? 'SERVICE_LLM_PRICE_IN' : 'SERVICE_LLM_PRICE_OUT',
      'is needed beside the other price: what a run costs takes both',
    );
  }
  return baseUrl === null || model === null ? null : { baseUrl, apiKey, model, priceIn, priceOut };
}
