import type { JsonObject } from '../shared/json.js';

/** JSON Schema of a tool's arguments. */
export function parameters(properties: Readonly<Record<string, JsonObject>>, required: readonly string[]): JsonObject {
  return { type: 'object', properties, required, additionalProperties: false };
}

export function text(description: string): JsonObject {
  return { type: 'string', description };
}

export function count(description: string, minimum = 1): JsonObject {
  return { type: 'integer', minimum, description };
}

export function flag(description: string): JsonObject {
  return { type: 'boolean', description };
}
