import { createOpenAI } from '@ai-sdk/openai';
import { streamReply } from '../calling/stream-reply.js';
import type { Provider } from './provider.js';

/** OpenAI's Responses API. Nothing is stored there: reasoning travels with the transcript, encrypted. */
export const openai: Provider = {
  baseUrl: 'https://api.openai.com/v1',
  keyVariable: 'OPENAI_API_KEY',
  priceId: 'openai',
  remote: true,
  call: (request, { baseUrl, key, fetch, signal }) =>
    streamReply(request, signal, {
      model: createOpenAI({ baseURL: baseUrl, apiKey: key, fetch })(request.model.id),
      options: { openai: { store: false } },
    }),
};
