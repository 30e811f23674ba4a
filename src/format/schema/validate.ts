import type { ErrorObject } from 'ajv/dist/2020.js';
import { toDoubles, toJson } from '../../shared/exact-json.js';
import type { JsonObject } from '../../shared/json.js';
import { pointerName } from '../../shared/json-pointer.js';
import { compileSchema } from './compile.js';

const MAX_MESSAGES = 20;

/** The faults of `value`, at most 20 sentences such as `amount must be number`; empty when it is valid. */
export function validate(schema: JsonObject, value: unknown): readonly string[] {
  const compiled = compileSchema(schema, { strict: false });
  if (!compiled.ok) return [compiled.message];
  try {
    // ajv knows only doubles: it sees a large integer's type and approximate size.
    const messages = (compiled.validate(toDoubles(value)) ?? []).map(sentence);
    return [...new Set(messages)].slice(0, MAX_MESSAGES);
  } catch (error) {
    return [error instanceof RangeError ? 'the value is nested too deep' : String((error as Error).message)];
  }
}

type Phrase = (params: Readonly<Record<string, unknown>>, where: string) => string;

const PHRASES: Readonly<Record<string, Phrase>> = {
  required: (params, where) => `${join(where, String(params.missingProperty))} is missing`,
  additionalProperties: (params, where) => `${join(where, String(params.additionalProperty))} is not a known field`,
  unevaluatedProperties: (params, where) => `${join(where, String(params.unevaluatedProperty))} is not a known field`,
  enum: (params, where) => `${named(where)} must be one of ${listed(params.allowedValues)}`,
  const: (params, where) => `${named(where)} must be ${toJson(params.allowedValue)}`,
  type: (params, where) =>
    `${named(where)} must be ${Array.isArray(params.type) ? params.type.join(' or ') : params.type}`,
};

function sentence(error: ErrorObject): string {
  const where = pathText(error.instancePath);
  return PHRASES[error.keyword]?.(error.params, where) ?? `${named(where)} ${error.message ?? 'does not fit'}`;
}

/** A JSON pointer as people write it: `items[0].price`. */
function pathText(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map(pointerName)
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : join(path, part)), '');
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function named(path: string): string {
  return path === '' ? 'the value' : path;
}

function listed(values: unknown): string {
  const list = Array.isArray(values) ? values : [];
  return list.map((value) => (typeof value === 'string' ? value : toJson(value))).join(', ');
}
