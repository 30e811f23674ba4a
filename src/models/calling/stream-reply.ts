import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3FunctionTool,
  LanguageModelV3Message,
  LanguageModelV3StreamPart,
  SharedV3ProviderOptions,
} from '@ai-sdk/provider';
import { markIntegers } from '../../shared/exact-json.js';
import { isRecord } from '../../shared/json.js';
import {
  type ChatMessage,
  ModelError,
  type ModelReply,
  type ModelRequest,
  type ResolvedModel,
  type ToolCall,
  type ToolSpec,
} from '../contract.js';
import { BrokenOff } from '../failing/broken-off.js';
import type { Connection, ProviderReply, ReportedUsage } from '../providers/provider.js';
import { tooLarge } from '../wire/limits.js';
import { createContent, type ReplyContent } from './content.js';
import { fromOpaque, toOpaque } from './opaque.js';

type Finish = Extract<LanguageModelV3StreamPart, { type: 'finish' }>;

const CUT = 'the stream was cut before the answer was complete';

const CUT_BRIEF = { brief: 'cut its answer' };

interface SdkModel {
  readonly model: LanguageModelV3;
  readonly options?: SharedV3ProviderOptions;
  /** Marks a message as the end of a cached prefix, for providers that need marks. */
  readonly cacheMark?: SharedV3ProviderOptions;
}

/**
 * Makes one streamed call through the AI SDK's provider interface: the SDK's `streamText` cost more time than the rest
 * of a step. Throws what the provider throws; `toModelError` classifies it.
 */
export async function streamReply(
  request: ModelRequest,
  { signal, maxContentBytes }: Connection,
  sdk: SdkModel,
): Promise<ProviderReply> {
  const { stream } = await sdk.model.doStream(optionsOf(request, signal, sdk));
  const { content, finish } = await collect(stream, { onDelta: request.onDelta, maxContentBytes });
  const { text, calls } = content;
  const opaque = toOpaque(request.model, content.parts);
  return {
    text,
    calls,
    finish: finishOf(finish, calls),
    thought: content.parts.map((part) => (part.type === 'thought' ? part.text : '')).join(''),
    usage: reportedUsage(finish),
    costUsd: reportedCost(finish.usage.raw),
    ...(opaque === undefined ? {} : { opaque }),
  };
}

function optionsOf(request: ModelRequest, signal: AbortSignal, sdk: SdkModel): LanguageModelV3CallOptions {
  const { tools, temperature, maxOutputTokens } = request;
  return {
    prompt: toPrompt(request, sdk.cacheMark),
    abortSignal: signal,
    headers: { 'Idempotency-Key': request.idempotencyKey },
    ...(tools.length === 0 ? {} : { tools: toTools(tools), toolChoice: { type: 'auto' } }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(sdk.options === undefined ? {} : { providerOptions: sdk.options }),
  };
}

async function collect(
  stream: ReadableStream<LanguageModelV3StreamPart>,
  { onDelta, maxContentBytes }: { readonly onDelta: ModelRequest['onDelta']; readonly maxContentBytes: number },
): Promise<{ content: ReplyContent; finish: Finish }> {
  const content = createContent(onDelta);
  const partial: PartialReply = { said: '', bytes: 0, maxBytes: maxContentBytes, finish: undefined };
  try {
    const finish = await readParts(stream, partial, content.add);
    return { content: content.end(), finish };
  } catch (error) {
    if (partial.said === '') throw error;
    throw new BrokenOff(error, partial.said, partial.finish ? reportedUsage(partial.finish) : NO_USAGE);
  }
}

interface PartialReply {
  said: string;
  bytes: number;
  readonly maxBytes: number;
  finish: Finish | undefined;
}

const NO_USAGE: ReportedUsage = { input: undefined, output: undefined, cached: undefined, cacheWrite: undefined };

async function readParts(
  stream: ReadableStream<LanguageModelV3StreamPart>,
  partial: PartialReply,
  addPart: (part: LanguageModelV3StreamPart) => void,
): Promise<Finish> {
  for await (const part of stream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'finish') partial.finish = part;
    if ('delta' in part) {
      partial.said += part.delta;
      partial.bytes += Buffer.byteLength(part.delta);
      if (partial.bytes > partial.maxBytes) throw tooLarge('an answer', partial.maxBytes);
    }
    addPart(part);
  }
  const { finish } = partial;
  if (finish === undefined) throw new ModelError('transient', CUT, CUT_BRIEF);
  const { unified, raw } = finish.finishReason;
  // Without a finish reason the answer is incomplete.
  if (raw === undefined && (unified === 'other' || unified === 'error'))
    throw new ModelError('transient', CUT, CUT_BRIEF);
  if (unified === 'error') throw new ModelError('transient', `the answer ended with ${raw}`, CUT_BRIEF);
  return finish;
}

const FINISH = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'content-filter',
  'tool-calls': 'tool-calls',
  error: 'other',
  other: 'other',
} as const satisfies Record<Finish['finishReason']['unified'], ModelReply['finish']>;

// Several compatible servers send `stop` though they call tools.
function finishOf({ finishReason: { unified } }: Finish, calls: readonly ToolCall[]): ModelReply['finish'] {
  return unified === 'stop' && calls.length > 0 ? 'tool-calls' : FINISH[unified];
}

function reportedUsage({ usage: { inputTokens, outputTokens } }: Finish): ReportedUsage {
  return {
    input: inputTokens.total,
    output: outputTokens.total,
    cached: inputTokens.cacheRead,
    cacheWrite: inputTokens.cacheWrite,
  };
}

/** Maximum credible cost of a call: a broken meter must not empty a budget. */
const MOST_USD = 10_000;

/** `usage.cost` in USD, as OpenRouter and LiteLLM's proxy report it. */
function reportedCost(raw: unknown): number | null {
  const cost = isRecord(raw) ? raw.cost : undefined;
  return typeof cost === 'number' && cost >= 0 && cost <= MOST_USD ? cost : null;
}

/**
 * Converts the request to the SDK's prompt. With `cacheMark`, the system prompt and the last message end a cached
 * prefix.
 */
function toPrompt(request: ModelRequest, cacheMark: SharedV3ProviderOptions | undefined): LanguageModelV3Message[] {
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
function toTools(specs: readonly ToolSpec[]): LanguageModelV3FunctionTool[] {
  return specs.map(({ name, description, parameters }) => ({
    type: 'function',
    name,
    description,
    inputSchema: markIntegers(parameters),
  }));
}
