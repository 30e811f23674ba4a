import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { streamReply } from '../calling/stream-reply.js';
import type { Provider } from './provider.js';

/** Google's Gemini API. */
export const google: Provider = {
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  keyVariable: 'GOOGLE_GENERATIVE_AI_API_KEY',
  priceId: 'google',
  remote: true,
  call: (request, { baseUrl, key, fetch, signal }) =>
    streamReply(request, signal, {
      model: createGoogleGenerativeAI({ baseURL: baseUrl, apiKey: key, fetch })(request.model.id),
    }),
};
