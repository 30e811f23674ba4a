import { createOpenAI } from '@ai-sdk/openai';
import { streamReply } from '../calling/stream-reply.js';
import type { Provider } from './provider.js';
import { sdkModels } from './sdk-models.js';

const models = sdkModels(({ baseURL, key, id, fetch }) => createOpenAI({ baseURL, apiKey: key, fetch })(id));

/** OpenAI's Responses API. Nothing is stored there: reasoning travels with the transcript, encrypted. */
export const openai: Provider = {
  baseUrl: 'https://api.openai.com/v1',
  keyVariable: 'OPENAI_API_KEY',
  priceId: 'openai',
  remote: true,
  call: (request, connection) =>
    streamReply(request, connection, {
      model: models.of(connection, request.model.id),
      options: { openai: { store: false } },
    }),
};
