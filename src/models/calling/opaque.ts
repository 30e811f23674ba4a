import type { LanguageModelV3Message, SharedV3ProviderOptions } from '@ai-sdk/provider';
import { markIntegers, parseJson, toJson } from '../../shared/exact-json.js';
import { isRecord, type Json, type JsonObject } from '../../shared/json.js';
import type { ChatMessage, ResolvedModel, ToolCall } from '../contract.js';
import type { ReplyPart } from './content.js';

type Part = Extract<LanguageModelV3Message, { role: 'assistant' }>['content'][number];
type Said = Extract<ChatMessage, { role: 'assistant' }>;

/**
 * What must go back to the provider with a turn besides its text and calls: reasoning and its signatures, in their
 * order among the parts. Text and calls are stored as lengths and ids, to avoid duplicates. Undefined when the turn has
 * neither. Reasoning that came within the text is stored for display, and not sent back.
 */
export function toOpaque(model: ResolvedModel, parts: readonly ReplyPart[]): JsonObject | undefined {
  const kept = parts.map((part) => keepPart(part));
  if (kept.every((part) => part.type !== 'reasoning' && part.type !== 'thought' && part.options === undefined))
    return undefined;
  return asJson({ provider: model.provider, model: model.id, parts: kept });
}

interface KeptPart {
  readonly type: 'text' | 'call' | 'reasoning' | 'thought';
  readonly length?: number;
  readonly id?: string;
  readonly text?: string;
  readonly options?: unknown;
}

function keepPart(part: ReplyPart): KeptPart {
  const options = part.metadata === undefined ? {} : { options: part.metadata };
  if (part.type === 'call') return { type: 'call', id: part.id, ...options };
  if (part.type === 'text') return { type: 'text', length: part.text.length, ...options };
  return { type: part.type, text: part.text, ...options };
}

/**
 * A turn as providers get it. Stored reasoning is restored only for the same model, and only with unchanged text: a
 * signature over other text would be refused.
 */
export function fromOpaque(model: ResolvedModel, said: Said): Part[] {
  const kept = keptParts(model, said);
  if (kept === null) return [...textPart(said.text), ...said.calls.map((call) => callPart(call))];
  let at = 0;
  const seen = new Set<string>();
  const parts = kept.flatMap((part): Part[] => {
    const options = isRecord(part.options) ? { providerOptions: part.options as SharedV3ProviderOptions } : {};
    if (part.type === 'reasoning') return [{ type: 'reasoning', text: part.text ?? '', ...options }];
    if (part.type === 'thought') return [];
    if (part.type === 'text') {
      const text = said.text.slice(at, at + (part.length ?? 0));
      at += text.length;
      return textPart(text).map((entry) => ({ ...entry, ...options }));
    }
    const call = said.calls.find(({ id }) => id === part.id);
    if (call) seen.add(call.id);
    return call ? [{ ...callPart(call), ...options }] : [];
  });
  return [...parts, ...said.calls.filter(({ id }) => !seen.has(id)).map((call) => callPart(call))];
}

function keptParts(model: ResolvedModel, { opaque, text }: Said): KeptPart[] | null {
  if (opaque?.provider !== model.provider || opaque.model !== model.id || !Array.isArray(opaque.parts)) return null;
  const parts = (opaque.parts as readonly Json[]).filter(isRecord) as unknown as KeptPart[];
  const length = parts.reduce((sum, part) => sum + (part.type === 'text' ? (part.length ?? 0) : 0), 0);
  return length === text.length ? parts : null;
}

function textPart(text: string): Extract<Part, { type: 'text' }>[] {
  return text === '' ? [] : [{ type: 'text', text }];
}

// Arguments that are not a JSON object go back as {}: providers refuse anything else, and the tool's result has the
// reason.
function callPart(call: ToolCall): Extract<Part, { type: 'tool-call' }> {
  return { type: 'tool-call', toolCallId: call.id, toolName: call.name, input: markIntegers(call.args ?? {}) };
}

/** Through JSON, so that the stored value equals the one in memory: no undefined, no shared references. */
function asJson(value: object): JsonObject {
  return parseJson(toJson(value)) as JsonObject;
}
