import { toJson } from '../../../shared/exact-json.js';
import { isRecord } from '../../../shared/json.js';
import { listOf, numberOf, recordOf, textOf, usageOf, wordOf } from './fields.js';
import type { Mender } from './mender.js';

/** A chunk of OpenAI's chat completions. */
export const mendChat: Mender = (chunk) => {
  const { error, choices, usage, id, model } = chunk;
  if (error !== undefined && error !== null) return [chunk];
  if (choices === undefined && usage === undefined) return [];
  return [
    {
      id: wordOf(id),
      model: textOf(model),
      choices: listOf(choices).filter(isRecord).map(mendChoice),
      usage: usageOf(usage),
    },
  ];
};

function mendChoice({ delta: given, finish_reason: reason }: Record<string, unknown>): object {
  const delta = recordOf(given);
  const calls = listOf(delta.tool_calls).filter(isRecord);
  return {
    delta: {
      content: mendContent(delta.content),
      refusal: textOf(delta.refusal),
      reasoning_content: mendReasoning(delta.reasoning_content),
      reasoning: mendReasoning(delta.reasoning),
      tool_calls: calls.length === 0 ? null : calls.map(mendCall),
    },
    finish_reason: textOf(reason),
  };
}

/** Text, or parts of several kinds, of which the SDK accepts those that it knows. */
function mendContent(content: unknown): string | readonly object[] | null {
  if (typeof content !== 'object') return content === undefined ? null : String(content);
  const parts = listOf(content).flatMap((part) => {
    if (typeof part === 'string') return [{ type: 'text', text: part }];
    if (!isRecord(part)) return [];
    return typeof part.type === 'string' ? [part] : [{ ...part, type: 'text' }];
  });
  return parts.length === 0 ? null : parts;
}

function mendReasoning(reasoning: unknown): string | null {
  if (!isRecord(reasoning)) return textOf(reasoning);
  return textOf(reasoning.text) ?? textOf(reasoning.content);
}

function mendCall({ index, id, function: called, extra_content }: Record<string, unknown>): object {
  const { name, arguments: given } = recordOf(called);
  return {
    index: numberOf(index),
    id: wordOf(id),
    function: { name: textOf(name), arguments: isRecord(given) ? toJson(given) : textOf(given) },
    ...(isRecord(extra_content) ? { extra_content } : {}),
  };
}
