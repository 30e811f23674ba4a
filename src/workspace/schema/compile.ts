import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { canonicalJson, isRecord, type Json, type JsonObject } from '../../shared/json.js';
import { Lru } from '../../shared/lru.js';
import { compilePattern } from '../values/pattern.js';
import { MAPS, VALUES } from './json-schema.js';

/** Compiling takes about a millisecond a node. A workspace's own schemas are small; those of foreign tools need not be. */
const MAX_NODES = { strict: 1_000, lenient: 5_000 } as const;
const MAX_DEPTH = 64;
/** References that one validation may follow: two that meet the same data twice double it with every level. */
const MAX_STEPS = 20_000;

/** Stands beside each reference in the copy that is compiled. */
const STEP = 'x-signalbox-step';
let steps = 0;

type Compiled = { ok: true; validate: (value: unknown) => ValidateFunction['errors'] } | { ok: false; message: string };
const compiled = new Lru<string, Compiled>(200);

const ajvs = { strict: createAjv(true), lenient: createAjv(false) } as const;

/** Compiles with ajv, in a form that cannot hang: RE2 patterns, counted references, hashed `uniqueItems`, nothing remote. */
export function compileSchema(schema: JsonObject, options: { readonly strict: boolean }): Compiled {
  const key = `${options.strict} ${JSON.stringify(schema)}`;
  return compiled.get(key) ?? compiled.set(key, compileFresh(schema, options.strict ? 'strict' : 'lenient'));
}

function compileFresh(schema: JsonObject, mode: keyof typeof ajvs): Compiled {
  const ajv = ajvs[mode];
  try {
    const counted = count(schema, { left: MAX_NODES[mode] }, 0) as JsonObject;
    const run = ajv.compile(counted);
    return { ok: true, validate: (value) => runBounded(run, value) };
  } catch (error) {
    return { ok: false, message: reason(error) };
  } finally {
    // All but the meta-schemas: no schema may see another's `$id`.
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
  // Known to people who write OpenAPI, and without a meaning here.
  for (const keyword of ['example', 'xml', 'externalDocs', 'discriminator']) ajv.addKeyword(keyword);
  return ajv;
}

function step(): boolean {
  steps -= 1;
  if (steps < 0) throw new Error('the schema refers to itself too often for this value');
  return true;
}

/** Copies a schema, puts a step beside each reference, and refuses what is too big or too deep. */
function count(schema: unknown, seen: { left: number }, depth: number): Json {
  seen.left -= 1;
  if (seen.left < 0 || depth > MAX_DEPTH) throw new Error('the schema is too big or nested too deep');
  if (Array.isArray(schema)) return schema.map((entry) => count(entry, seen, depth + 1));
  if (!isRecord(schema)) return schema as Json;
  const entries = Object.entries(schema)
    .filter(([key]) => key !== '$schema')
    .map(([key, value]): [string, Json] => [key, countEntry(key, value, seen, depth)]);
  const refers = typeof schema.$ref === 'string' || typeof schema.$dynamicRef === 'string';
  return Object.fromEntries(refers ? [[STEP, true], ...entries] : entries);
}

function countEntry(key: string, value: unknown, seen: { left: number }, depth: number): Json {
  if (VALUES.has(key)) return value as Json;
  if (!MAPS.has(key) || !isRecord(value)) return count(value, seen, depth + 1);
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, count(entry, seen, depth + 2)]));
}

function reason(error: unknown): string {
  const text = error instanceof Error ? error.message : 'it cannot be compiled';
  const remote = /^can't resolve reference (\S+)/.exec(text)?.[1];
  if (remote) return `\`${remote}\` cannot be followed: a schema refers only to itself, as in \`#/$defs/name\``;
  const [first = text] = text.split(', data/');
  return first.replace(/^strict mode: /, '').replace(/^schema is invalid: data\b\/?/, 'the schema is invalid: ');
}
