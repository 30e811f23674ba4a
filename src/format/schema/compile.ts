import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { toDoubles } from '../../shared/exact-json.js';
import { canonicalJson, isRecord, type Json, type JsonObject } from '../../shared/json.js';
import { Lru } from '../../shared/lru.js';
import { compilePattern, isPattern } from '../values/pattern.js';
import { MAPS, VALUES } from './json-schema.js';

/**
 * Compiling takes about a millisecond per node. A workspace's own schemas are small; those of foreign tools may be
 * large.
 */
const MAX_NODES = { strict: 1_000, lenient: 5_000 } as const;
const MAX_DEPTH = 64;
const MAX_PATTERNS_NAMED = 10;
/** Maximum number of references in one validation: two references on the same data double the work at each level. */
const MAX_STEPS = 20_000;

/** A keyword that is added next to each reference in the compiled copy, to count it. */
const STEP = 'x-signalbox-step';
let steps = 0;

type Compiled = { ok: true; validate: (value: unknown) => ValidateFunction['errors'] } | { ok: false; message: string };
const compiled = new Lru<string, Compiled>(200);

type Mode = keyof typeof MAX_NODES;
const ajvs = { strict: createAjv(true), lenient: createAjv(false) } as const;

/**
 * Compiles with ajv in a form that cannot hang: RE2 patterns, counted references, hashed `uniqueItems`, no remote
 * references. Without `strict`, for foreign schemas, patterns that RE2 does not support are left out. If an object's
 * schema still does not compile, only the properties that compile are checked.
 */
export function compileSchema(schema: JsonObject, options: { readonly strict: boolean }): Compiled {
  const key = `${options.strict} ${JSON.stringify(schema)}`;
  return compiled.get(key) ?? compiled.set(key, compileFresh(schema, options.strict ? 'strict' : 'lenient'));
}

function compileFresh(schema: JsonObject, mode: Mode): Compiled {
  const compiled = compileWhole(schema, mode);
  if (compiled.ok || mode === 'strict' || schema.type !== 'object') return compiled;
  return compileWhole(compilablePart(schema), mode);
}

/** The part of an object's schema that compiles: other properties accept any value. */
function compilablePart(schema: JsonObject): JsonObject {
  const { properties, required, $defs, definitions } = schema;
  const shared = { ...($defs !== undefined && { $defs }), ...(definitions !== undefined && { definitions }) };
  const kept = Object.entries(isRecord(properties) ? properties : {}).filter(
    ([, property]) => isRecord(property) && compileWhole({ ...(property as JsonObject), ...shared }, 'lenient').ok,
  );
  const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
  return {
    type: 'object',
    ...(kept.length > 0 && { properties: Object.fromEntries(kept) as JsonObject, ...shared }),
    ...(names.length > 0 && { required: [...new Set(names)] }),
  };
}

function compileWhole(schema: JsonObject, mode: Mode): Compiled {
  const ajv = ajvs[mode];
  try {
    const counted = count(toDoubles(schema) as JsonObject, { left: MAX_NODES[mode], mode }, 0) as JsonObject;
    const run = ajv.compile(counted);
    return { ok: true, validate: (value) => runBounded(run, value) };
  } catch (error) {
    return { ok: false, message: reason(error) };
  } finally {
    // Remove all schemas but the meta-schemas: no schema may see another's `$id`.
    ajv.removeSchema();
  }
}

function runBounded(run: ValidateFunction, value: unknown): ValidateFunction['errors'] {
  steps = MAX_STEPS;
  return run(value) ? null : run.errors;
}

function createAjv(strictSchema: boolean): Ajv2020 {
  const ajv = new Ajv2020({
    allErrors: true,
    strictSchema,
    strictTypes: false,
    strictTuples: false,
    strictRequired: false,
    validateFormats: false,
    validateSchema: true,
    logger: false,
    code: { regExp: Object.assign((source: string) => compilePattern(source), { code: 'compilePattern' }) },
  });
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must not hold an item twice' },
    validate: (on: boolean, items: unknown[]) =>
      !on || new Set(items.map((item) => canonicalJson(item))).size === items.length,
  });
  ajv.addKeyword({ keyword: STEP, schemaType: 'boolean', validate: step });
  // Keywords of OpenAPI, which have no effect here.
  for (const keyword of ['example', 'xml', 'externalDocs', 'discriminator']) ajv.addKeyword(keyword);
  return ajv;
}

function step(): boolean {
  steps -= 1;
  if (steps < 0) throw new Error('the schema refers to itself too often for this value');
  return true;
}

interface Counting {
  left: number;
  readonly mode: Mode;
}

/** Copies a schema, adds a step next to each reference, and refuses schemas that are too large or too deep. */
function count(schema: unknown, seen: Counting, depth: number): Json {
  seen.left -= 1;
  if (seen.left < 0 || depth > MAX_DEPTH) throw new Error('the schema is too big or nested too deep');
  if (Array.isArray(schema)) return schema.map((entry) => count(entry, seen, depth + 1));
  if (!isRecord(schema)) return schema as Json;
  const entries = Object.entries(schema)
    .filter(([key, value]) => key !== '$schema' && !(seen.mode === 'lenient' && isUnsupported(schema, key, value)))
    .map(([key, value]): [string, Json] => [key, countEntry(key, value, seen, depth)]);
  const refers = typeof schema.$ref === 'string' || typeof schema.$dynamicRef === 'string';
  return Object.fromEntries(refers ? [[STEP, true], ...entries] : entries);
}

function countEntry(key: string, value: unknown, seen: Counting, depth: number): Json {
  if (VALUES.has(key)) return value as Json;
  if (!MAPS.has(key) || !isRecord(value)) return count(value, seen, depth + 1);
  const entries = Object.entries(value).filter(
    ([name]) => seen.mode === 'strict' || key !== 'patternProperties' || isPattern(name),
  );
  return Object.fromEntries(entries.map(([name, entry]) => [name, count(entry, seen, depth + 2)]));
}

/**
 * True for a pattern that RE2 does not support. Then `additionalProperties` is dropped too, since it would refuse the
 * properties that only the pattern allows.
 */
function isUnsupported(schema: Readonly<Record<string, unknown>>, key: string, value: unknown): boolean {
  if (key === 'pattern') return typeof value === 'string' && !isPattern(value);
  const isExtra = key === 'additionalProperties' || key === 'unevaluatedProperties';
  return isExtra && isRecord(schema.patternProperties) && !Object.keys(schema.patternProperties).every(isPattern);
}

/** The patterns of a schema that validation leaves out, since RE2 does not support them; at most ten. */
export function unsupportedPatterns(schema: unknown): readonly string[] {
  const found = new Set<string>();
  const left: unknown[] = [schema];
  while (left.length > 0 && found.size < MAX_PATTERNS_NAMED) {
    const value = left.pop();
    if (!isRecord(value) && !Array.isArray(value)) continue;
    for (const [key, inner] of Object.entries(value)) {
      if (key === 'pattern' && typeof inner === 'string' && !isPattern(inner)) found.add(inner);
      if (key === 'patternProperties' && isRecord(inner)) {
        for (const name of Object.keys(inner)) if (!isPattern(name)) found.add(name);
      }
      left.push(inner);
    }
  }
  return [...found];
}

function reason(error: unknown): string {
  const text = error instanceof Error ? error.message : 'it cannot be compiled';
  const remote = /^can't resolve reference (\S+)/.exec(text)?.[1];
  if (remote) return `\`${remote}\` cannot be followed: a schema refers only to itself, as in \`#/$defs/name\``;
  const [first = text] = text.split(', data/');
  return first.replace(/^strict mode: /, '').replace(/^schema is invalid: data\b\/?/, 'the schema is invalid: ');
}
