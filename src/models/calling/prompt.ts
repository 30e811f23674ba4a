import type { LanguageModelV3FunctionTool, LanguageModelV3Message, SharedV3ProviderOptions } from '@ai-sdk/provider';
import { markIntegers } from '../../shared/exact-json.js';
import type { ChatMessage, ModelRequest, ResolvedModel, ToolSpec } from '../contract.js';
import { fromOpaque } from './opaque.js';

/**
 * Converts the request to the SDK's prompt. With `cacheMark`, the system prompt and the last message end a cached
 * prefix.
 */
export function toPrompt(
  request: ModelRequest,
  cacheMark: SharedV3ProviderOptions | undefined,
): LanguageModelV3Message[] {
  const mark = cacheMark === undefined ? {} : { providerOptions: cacheMark };
  const messages = request.messages.flatMap((message) => toMessage(request.model, message));
  const last = messages.pop();
  return [{ role: 'system', content: request.system, ...mark }, ...messages, ...(last ? [{ ...last, ...mark }] : [])];
}

function toMessage(model: ResolvedModel, message: ChatMessage): LanguageModelV3Message[] {
  if (message.role === 'user') return [{ role: 'user', content: [{ type: 'text', text: message.text }] }];
  if (message.role === 'assistant') {
    const content = fromOpaque(model, message);
    // Providers refuse an empty turn.
    return content.length === 0 ? [] : [{ role: 'assistant', content }];
  }
  const content = message.results.map(
    (result) =>
      ({
        type: 'tool-result',
        toolCallId: result.callId,
        toolName: result.name,
        output: { type: result.isError ? 'error-text' : 'text', value: result.text },
      }) as const,
  );
  return [{ role: 'tool', content }];
}

/** The tools' definitions only: the engine executes them. */
export function toTools(specs: readonly ToolSpec[]): LanguageModelV3FunctionTool[] {
  return specs.map(({ name, description, parameters }) => ({
    type: 'function',
    name,
    description,
    inputSchema: markIntegers(parameters),
  }));
}
