import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { streamReply } from '../calling/stream-reply.js';
import type { Provider } from './provider.js';
import { sdkModels } from './sdk-models.js';

const models = sdkModels(({ baseURL, key, id, fetch }) =>
  createGoogleGenerativeAI({ baseURL, apiKey: key, fetch })(id),
);

/** Google's Gemini API. */
export const google: Provider = {
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  keyVariable: 'GOOGLE_GENERATIVE_AI_API_KEY',
  priceId: 'google',
  remote: true,
  call: (request, connection) =>
    streamReply(request, connection, {
      model: models.of(connection, request.model.id),
    }),
};
