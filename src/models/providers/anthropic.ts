import { createAnthropic } from '@ai-sdk/anthropic';
import { streamReply } from '../calling/stream-reply.js';
import type { Provider } from './provider.js';
import { sdkModels } from './sdk-models.js';

const models = sdkModels(({ baseURL, key, id, fetch }) => createAnthropic({ baseURL, apiKey: key, fetch })(id));

/**
 * Anthropic's Messages API. It caches a prompt only up to marks, so the system prompt and the last message have one.
 */
export const anthropic: Provider = {
  baseUrl: 'https://api.anthropic.com/v1',
  keyVariable: 'ANTHROPIC_API_KEY',
  priceId: 'anthropic',
  remote: true,
  call: (request, connection) =>
    streamReply(request, connection, {
      model: models.of(connection, request.model.id),
      cacheMark: { anthropic: { cacheControl: { type: 'ephemeral' } } },
    }),
};
