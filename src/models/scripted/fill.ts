import type { Json, JsonObject } from '../../shared/json.js';
import type { ModelRequest } from '../contract.js';

/** Puts `{{last}}` and `{{input}}` into a text. Inserted text is not expanded. */
export function fillText(text: string, request: ModelRequest): string {
  return text.replace(/\{\{\s*(last|input)\s*\}\}/g, (_all, name: string) =>
    name === 'last' ? lastResult(request) : runInput(request),
  );
}

/** The same within all strings of a call's arguments. */
export function fillArgs(args: JsonObject, request: ModelRequest): JsonObject {
  const fill = (value: Json): Json => {
    if (typeof value === 'string') return fillText(value, request);
    if (Array.isArray(value)) return (value as readonly Json[]).map(fill);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, fill(entry)]));
  };
  return Object.fromEntries(Object.entries(args).map(([key, entry]) => [key, fill(entry)]));
}

/** The first line of the step's instruction. */
export function instructionLine(request: ModelRequest): string {
  const text = request.script?.instruction ?? firstUserText(request);
  return (
    text
      .split('\n')
      .find((line) => line.trim() !== '')
      ?.trim() ?? ''
  );
}

function lastResult({ messages }: ModelRequest): string {
  const last = messages.findLast((message) => message.role === 'tool');
  return last?.results.at(-1)?.text ?? '';
}

function runInput(request: ModelRequest): string {
  return request.script?.input ?? firstUserText(request);
}

function firstUserText({ messages }: ModelRequest): string {
  return messages.find((message) => message.role === 'user')?.text ?? '';
}
