import { CORE_SCHEMA, load, mergeTag } from 'js-yaml';
import { isRecord } from '../../shared/json.js';

/** The limit for a fetched document, in characters, in JSON or YAML. */
const MAX_TEXT = 24 * 1_048_576;
/** Aliases share their value until they are expanded: a document of a few lines can expand to billions of nodes. */
const MAX_PARTS = 5_000_000;
const BOM = /^\uFEFF/;
const SCHEMA = CORE_SCHEMA.withTags(mergeTag);

export type DocumentRead =
  | { readonly ok: true; readonly document: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly message: string };

/** The document if it is OpenAPI 3.0 or 3.1. The message is the end of a sentence. */
export function asOpenapi(read: DocumentRead): DocumentRead {
  if (!read.ok) return read;
  const { openapi, swagger } = read.document;
  if (swagger !== undefined) {
    return fail(
      `is Swagger ${show(swagger)}; only OpenAPI 3.0 and 3.1 are read: convert it, for example with swagger2openapi`,
    );
  }
  if (typeof openapi !== 'string') return fail('is not an OpenAPI document: it has no `openapi: 3.…`');
  if (!/^3\.[01](\.|$)/.test(openapi)) return fail(`is of version ${show(openapi)}: only 3.0 and 3.1 are read`);
  if (!isRecord(read.document.paths)) return fail('has no `paths`');
  return read;
}

/** Reads any JSON or YAML map: an OpenAPI document, or one that it refers to. */
export function readTree(text: string): DocumentRead {
  return readJsonTree(text) ?? readYaml(text.replace(BOM, ''));
}

/** Reads JSON, which takes a tenth of the time of YAML; null for any other text. */
export function readJsonTree(text: string): DocumentRead | null {
  if (!/^\uFEFF?\s*\{/.test(text)) return null;
  try {
    return asMap(JSON.parse(text.replace(BOM, '')));
  } catch {
    // A flow map of YAML begins with a brace too.
    return null;
  }
}

function asMap(document: unknown): DocumentRead {
  return isRecord(document) ? { ok: true, document } : fail('is not a JSON or YAML map');
}

function readYaml(text: string): DocumentRead {
  if (text.length > MAX_TEXT) return fail(`is longer than ${MAX_TEXT / 1_048_576} MiB`);
  try {
    const document = load(text, { schema: SCHEMA, json: true });
    if (partsOf(document, new Map()) > MAX_PARTS) return fail('has too many aliases: write what they repeat out');
    return asMap(document);
  } catch (error) {
    const [line = ''] = String((error as Error).message).split('\n');
    return fail(`cannot be read as YAML (${line.slice(0, 200)})`);
  }
}

/** The number of parts of a value with each alias expanded; infinite for one that contains itself. */
function partsOf(value: unknown, known: Map<object, number>): number {
  if (typeof value !== 'object' || value === null) return 1;
  const before = known.get(value);
  if (before !== undefined) return before;
  known.set(value, Number.POSITIVE_INFINITY);
  const parts = Object.values(value).reduce((sum: number, inner) => sum + partsOf(inner, known), 1);
  known.set(value, parts);
  return parts;
}

function fail(message: string): { readonly ok: false; readonly message: string } {
  return { ok: false, message };
}

function show(value: unknown): string {
  return String(value).slice(0, 20);
}
