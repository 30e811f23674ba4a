import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { streamReply } from '../calling/stream-reply.js';
import type { Provider } from './provider.js';
import { sdkModels } from './sdk-models.js';

const models = sdkModels(({ baseURL, key, id, fetch }) =>
  createOpenAICompatible({
    name: 'compatible',
    baseURL,
    fetch,
    includeUsage: true,
    ...(key === '' ? {} : { apiKey: key }),
  })(id),
);

/** Any server with OpenAI's chat completions API: vLLM, Ollama, llama.cpp, LiteLLM, OpenRouter and others. */
export const openaiCompatible: Provider = {
  baseUrl: null,
  keyVariable: null,
  priceId: null,
  remote: true,
  call: (request, connection) => streamReply(request, connection, { model: models.of(connection, request.model.id) }),
};
