import type { LanguageModelV3 } from '@ai-sdk/provider';
import { Lru } from '../../shared/lru.js';
import { fetchOfCall } from '../calling/watched-fetch.js';
import type { Connection } from './provider.js';

interface SdkModelOptions {
  readonly baseURL: string;
  readonly key: string;
  readonly id: string;
  readonly fetch: typeof fetch;
}

/** The SDK's models of a provider, each created once, since the SDK builds its schemas for every model object. */
export function sdkModels(create: (options: SdkModelOptions) => LanguageModelV3) {
  const models = new Lru<string, LanguageModelV3>(100);
  return {
    of({ baseUrl: baseURL, key }: Connection, id: string): LanguageModelV3 {
      const name = JSON.stringify([baseURL, key, id]);
      return models.get(name) ?? models.set(name, create({ baseURL, key, id, fetch: fetchOfCall }));
    },
  };
}
