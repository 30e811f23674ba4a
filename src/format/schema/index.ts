import { isRecord, type JsonObject } from '../../shared/json.js';
import { compileSchema } from './compile.js';
import { isJsonSchema } from './json-schema.js';
import { parseSource } from './parse-source.js';
import { fromPicoschema } from './picoschema.js';

export { unsupportedPatterns } from './compile.js';
export { declares } from './declares.js';
export { validate } from './validate.js';

export type SchemaInfo = 'yaml schema' | 'json schema' | 'yaml form' | 'json form';

type Read = { ok: true; schema: JsonObject } | { ok: false; message: string; line: number };

/**
 * Reads a schema block, Picoschema or JSON Schema, to JSON Schema 2020-12 that compiles. `line` counts from 1 in
 * `source`.
 */
export function readSchema(source: string, info: SchemaInfo): Read {
  const language = info.startsWith('json') ? 'json' : 'yaml';
  const parsed = parseSource(source, language);
  if (!parsed.ok) return parsed;
  const { value, lineOf } = parsed;
  if (value === null || value === undefined) return { ok: false, message: 'the schema is empty', line: 1 };
  const pico = isJsonSchema(value, language) ? undefined : fromPicoschema(value);
  if (pico && !pico.ok) return { ok: false, message: withPath(pico), line: lineOf(pico.at) };
  const compiled = checked(pico ? pico.schema : value);
  if (!compiled.ok) return { ...compiled, line: 1 };
  if (info.endsWith('form') && !isForm(compiled.schema)) {
    return { ok: false, message: 'a form needs named fields, like `reason: string`', line: 1 };
  }
  return compiled;
}

/** Reads a flow's `input:`, Picoschema or JSON Schema as a frontmatter value, to JSON Schema that compiles. */
export function picoschema(value: unknown): { ok: true; schema: JsonObject } | { ok: false; message: string } {
  if (isJsonSchema(value, 'yaml')) return checked(value);
  const pico = fromPicoschema(value);
  return pico.ok ? checked(pico.schema) : { ok: false, message: withPath(pico) };
}

function checked(value: unknown): { ok: true; schema: JsonObject } | { ok: false; message: string } {
  if (!isRecord(value)) return { ok: false, message: 'the schema is not a mapping' };
  const { $schema: _dialect, ...schema } = value as JsonObject;
  const compiled = compileSchema(schema, { strict: true });
  if (!compiled.ok) return { ok: false, message: compiled.message };
  return ends(compiled.validate)
    ? { ok: true, schema }
    : { ok: false, message: 'the schema refers to itself without end' };
}

/** References that lead back to themselves without descending into the value exhaust the stack on any value. */
function ends(run: (value: unknown) => unknown): boolean {
  try {
    run(null);
    return true;
  } catch {
    return false;
  }
}

function isForm(schema: JsonObject): boolean {
  return schema.type === 'object' && isRecord(schema.properties) && Object.keys(schema.properties).length > 0;
}

function withPath({ message, at }: { readonly message: string; readonly at: readonly string[] }): string {
  return at.length === 0 ? message : `${at.join('.')}: ${message}`;
}
