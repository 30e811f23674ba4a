import { jsonSchema, type ModelMessage, type SystemModelMessage, type ToolSet, tool } from 'ai';
import type { ChatMessage, ModelRequest, ResolvedModel, ToolSpec } from '../contract.js';
import { fromOpaque } from './opaque.js';

type Options = NonNullable<ModelMessage['providerOptions']>;

export interface Prompt {
  readonly system: SystemModelMessage | string;
  readonly messages: ModelMessage[];
}

/** The request in the SDK's words. With `cacheMark`, the system prompt and the last message end a cached prefix. */
export function toPrompt(request: ModelRequest, cacheMark: Options | undefined): Prompt {
  const messages = request.messages.flatMap((message) => toMessage(request.model, message));
  if (cacheMark === undefined) return { system: request.system, messages };
  const last = messages.pop();
  if (last) messages.push({ ...last, providerOptions: cacheMark });
  return { system: { role: 'system', content: request.system, providerOptions: cacheMark }, messages };
}

function toMessage(model: ResolvedModel, message: ChatMessage): ModelMessage[] {
  if (message.role === 'user') return [{ role: 'user', content: message.text }];
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

/** Tools without `execute`: the engine runs them, this layer only tells the model of them. */
export function toTools(specs: readonly ToolSpec[]): ToolSet {
  return Object.fromEntries(
    specs.map(({ name, description, parameters }) => [
      name,
      tool({ description, inputSchema: jsonSchema(parameters) }),
    ]),
  );
}
