import { z } from 'zod';

/** The keys that an object at this path of the schema may have; none when the path leads to no object. */
export function keysAt(schema: unknown, path: readonly PropertyKey[]): string[] {
  let options = open(schema);
  for (const part of path) options = options.flatMap((option) => step(option, part)).flatMap(open);
  return [...new Set(options.flatMap((option) => (option instanceof z.ZodObject ? Object.keys(option.shape) : [])))];
}

/** A schema without its wrappers (optional, nullable, default …); a union as its options. */
function open(schema: unknown): unknown[] {
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(open);
  if (schema instanceof z.ZodPipe) return open(schema.in);
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodReadonly
  ) {
    return open(schema.unwrap());
  }
  return [schema];
}

function step(schema: unknown, part: PropertyKey): unknown[] {
  if (schema instanceof z.ZodObject) return [schema.shape[String(part)]];
  if (schema instanceof z.ZodArray) return [schema.element];
  if (schema instanceof z.ZodRecord) return [schema.valueType];
  return [];
}
