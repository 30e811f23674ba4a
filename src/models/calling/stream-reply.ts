import { type LanguageModel, type ModelMessage, streamText, type TextStreamPart, type ToolSet } from 'ai';
import { isRecord, type JsonObject } from '../../shared/json.js';
import { ModelError, type ModelReply, type ModelRequest, type ToolCall } from '../contract.js';
import type { ProviderReply, ToldUsage } from '../providers/provider.js';
import { toOpaque } from './opaque.js';
import { toPrompt, toTools } from './prompt.js';

type Options = NonNullable<ModelMessage['providerOptions']>;
type Part = TextStreamPart<ToolSet>;
type Finish = Extract<Part, { type: 'finish-step' }>;

const CUT = 'the stream was cut before the answer was complete';

export interface SdkModel {
  readonly model: LanguageModel;
  readonly options?: Options;
  /** Marks a message as the end of a cached prefix, where a provider wants to be told. */
  readonly cacheMark?: Options;
}

// The SDK prints its warnings to the console unless told not to.
globalThis.AI_SDK_LOG_WARNINGS = false;

/** One streamed call through the AI SDK. Throws what the SDK throws: `toModelError` makes sense of it. */
export async function streamReply(request: ModelRequest, signal: AbortSignal, sdk: SdkModel): Promise<ProviderReply> {
  const result = streamText({
    model: sdk.model,
    ...toPrompt(request, sdk.cacheMark),
    maxRetries: 0,
    abortSignal: signal,
    headers: { 'Idempotency-Key': request.idempotencyKey },
    // The error is a part of the stream too, and read there.
    onError: () => undefined,
    ...(request.tools.length === 0 ? {} : { tools: toTools(request.tools) }),
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
    ...(request.maxOutputTokens === undefined ? {} : { maxOutputTokens: request.maxOutputTokens }),
    ...(sdk.options === undefined ? {} : { providerOptions: sdk.options }),
  });
  const { text, calls, finish } = await collect(result.fullStream, request.onDelta);
  const [message] = (await result.response).messages;
  const parts = message?.role === 'assistant' && typeof message.content !== 'string' ? message.content : [];
  const opaque = toOpaque(request.model, parts);
  return {
    text,
    calls,
    finish: finishOf(finish, calls),
    usage: toldUsage(finish),
    costUsd: toldCost(finish.usage.raw),
    ...(opaque === undefined ? {} : { opaque }),
  };
}

async function collect(stream: AsyncIterable<Part>, onDelta: ModelRequest['onDelta']) {
  let text = '';
  let finish: Finish | undefined;
  const calls: ToolCall[] = [];
  for await (const part of stream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'abort') throw new ModelError('aborted', 'the call was stopped');
    if (part.type === 'text-delta') {
      text += part.text;
      onDelta?.(part.text);
    }
    if (part.type === 'tool-call') calls.push(toCall(part));
    if (part.type === 'finish-step') finish = part;
  }
  if (finish === undefined) throw new ModelError('transient', CUT);
  const { finishReason, rawFinishReason } = finish;
  // A provider that did not tell why it stopped did not get that far.
  if (rawFinishReason === undefined && (finishReason === 'other' || finishReason === 'error')) {
    throw new ModelError('transient', CUT);
  }
  if (finishReason === 'error') throw new ModelError('transient', `the answer ended with ${rawFinishReason}`);
  return { text, calls, finish };
}

function toCall({ toolCallId, toolName, input }: Extract<Part, { type: 'tool-call' }>): ToolCall {
  const named = { id: toolCallId, name: toolName };
  if (isRecord(input)) return { ...named, args: input as JsonObject };
  return { ...named, args: null, raw: typeof input === 'string' ? input : JSON.stringify(input) };
}

const FINISH = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'content-filter',
  'tool-calls': 'tool-calls',
  error: 'other',
  other: 'other',
} as const satisfies Record<Finish['finishReason'], ModelReply['finish']>;

// Several compatible servers say `stop` though they call tools.
function finishOf({ finishReason }: Finish, calls: readonly ToolCall[]): ModelReply['finish'] {
  return finishReason === 'stop' && calls.length > 0 ? 'tool-calls' : FINISH[finishReason];
}

function toldUsage({ usage }: Finish): ToldUsage {
  return {
    input: usage.inputTokens,
    output: usage.outputTokens,
    cached: usage.inputTokenDetails.cacheReadTokens,
    cacheWrite: usage.inputTokenDetails.cacheWriteTokens,
  };
}

/** No single call costs more: a broken meter must not empty a budget. */
const MOST_USD = 10_000;

/** `usage.cost` in USD, as OpenRouter and LiteLLM's proxy tell it. */
function toldCost(raw: unknown): number | null {
  const cost = isRecord(raw) ? raw.cost : undefined;
  return typeof cost === 'number' && cost >= 0 && cost <= MOST_USD ? cost : null;
}
