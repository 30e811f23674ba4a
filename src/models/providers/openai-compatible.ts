import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { streamReply } from '../calling/stream-reply.js';
import type { Provider } from './provider.js';

/** Any server that speaks OpenAI's chat completions: vLLM, Ollama, llama.cpp, LiteLLM, OpenRouter and others. */
export const openaiCompatible: Provider = {
  baseUrl: null,
  keyVariable: null,
  priceId: null,
  remote: true,
  call: (request, { baseUrl, key, fetch, signal }) => {
    const provider = createOpenAICompatible({
      name: 'compatible',
      baseURL: baseUrl,
      fetch,
      includeUsage: true,
      ...(key === '' ? {} : { apiKey: key }),
    });
    return streamReply(request, signal, { model: provider(request.model.id) });
  },
};
