import type { LanguageModelV3StreamPart, SharedV3ProviderMetadata } from '@ai-sdk/provider';
import { isRecord, type JsonObject } from '../../shared/json.js';
import type { ModelRequest, ToolCall } from '../contract.js';

/** One part of an answer as the provider built it, with what it wants to see again. */
export type ReplyPart =
  | { readonly type: 'text' | 'reasoning'; text: string; metadata: SharedV3ProviderMetadata | undefined }
  | { readonly type: 'call'; readonly id: string; readonly metadata: SharedV3ProviderMetadata | undefined };

export interface ReplyContent {
  readonly text: string;
  readonly calls: readonly ToolCall[];
  /** In the order in which they began. */
  readonly parts: readonly ReplyPart[];
}

type Block = Extract<ReplyPart, { text: string }>;

/** Puts an answer together from the parts of its stream. `onDelta` hears each piece of text. */
export function createContent(onDelta: ModelRequest['onDelta']) {
  let text = '';
  const calls: ToolCall[] = [];
  const parts: ReplyPart[] = [];
  const open = new Map<string, Block>();
  const begin = (type: Block['type'], id: string): Block => {
    const block: Block = { type, text: '', metadata: undefined };
    parts.push(block);
    open.set(`${type} ${id}`, block);
    return block;
  };
  const take = (part: LanguageModelV3StreamPart): void => {
    if (part.type === 'tool-call') {
      calls.push(toCall(part));
      parts.push({ type: 'call', id: part.toolCallId, metadata: part.providerMetadata });
      return;
    }
    const [type, stage] = part.type.split('-');
    if ((type !== 'text' && type !== 'reasoning') || !('id' in part)) return;
    const block = (stage === 'start' ? undefined : open.get(`${type} ${part.id}`)) ?? begin(type, part.id);
    // The newest word on it stands: signatures come at the end of a block.
    if ('providerMetadata' in part) block.metadata = part.providerMetadata ?? block.metadata;
    if (!('delta' in part)) return;
    block.text += part.delta;
    if (type !== 'text') return;
    text += part.delta;
    onDelta?.(part.delta);
  };
  return { take, end: (): ReplyContent => ({ text, calls, parts }) };
}

function toCall({ toolCallId, toolName, input }: Extract<LanguageModelV3StreamPart, { type: 'tool-call' }>): ToolCall {
  const named = { id: toolCallId, name: toolName };
  try {
    const args: unknown = input.trim() === '' ? {} : JSON.parse(input);
    if (isRecord(args)) return { ...named, args: args as JsonObject };
  } catch {
    // Told to the model as what it is.
  }
  return { ...named, args: null, raw: input };
}
