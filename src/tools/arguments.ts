import type { JsonObject } from '../shared/json.js';

/** An invalid argument in a model's call. Its message is a sentence for the model; it is caught where tools run. */
export class BadArgument extends Error {
  override readonly name = 'BadArgument';
}

export function stringArg(args: JsonObject, name: string): string {
  const value = args[name];
  if (typeof value !== 'string') throw new BadArgument(`"${name}" must be a text`);
  return value;
}

export function optionalString(args: JsonObject, name: string): string | undefined {
  return args[name] === undefined || args[name] === null ? undefined : stringArg(args, name);
}

export function optionalFlag(args: JsonObject, name: string): boolean {
  const value = args[name] ?? false;
  if (typeof value !== 'boolean') throw new BadArgument(`"${name}" must be true or false`);
  return value;
}

/** A whole number within its bounds, or undefined when it is not given. */
export function optionalCount(
  args: JsonObject,
  name: string,
  [min, max]: readonly [number, number],
): number | undefined {
  const value = args[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    throw new BadArgument(`"${name}" must be a whole number from ${min} to ${max}`);
  }
  return value;
}

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
