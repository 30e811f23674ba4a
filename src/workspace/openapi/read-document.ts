import { type Document, parseDocument, visit } from 'yaml';
import { isRecord } from '../../shared/json.js';

/** Reading YAML takes seconds a MiB, and the whole worker waits. */
const MAX_YAML = 1_048_576;
const MAX_ALIASES = 1_000;
/** Each alias is looked for through the whole document: of as many nodes as many aliases are hours. */
const MAX_LOOKS = 500_000;
const ANCHOR = /(?:^|[\s,[{:-])&[^\s,[\]{}]/;

export type DocumentRead =
  | { readonly ok: true; readonly document: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly message: string };

/** Reads an OpenAPI document of version 3.0 or 3.1, in JSON or YAML. The message is the end of a sentence. */
export function readOpenapi(text: string): DocumentRead {
  const read = readTree(text);
  if (!read.ok) return read;
  const { openapi, swagger } = read.document;
  if (swagger !== undefined) return fail(`is of version ${show(swagger)}: convert it to OpenAPI 3`);
  if (typeof openapi !== 'string') return fail('is no OpenAPI document: it has no `openapi: 3.…`');
  if (!/^3\.[01](\.|$)/.test(openapi)) return fail(`is of version ${show(openapi)}: only 3.0 and 3.1 are read`);
  if (!isRecord(read.document.paths)) return fail('has no `paths`');
  return read;
}

/** Any JSON or YAML map: an OpenAPI document, or what one refers to. */
export function readTree(text: string): DocumentRead {
  const source = text.replace(/^\uFEFF/, '');
  const tree = /^\s*\{/.test(source) ? readJson(source) : readYaml(source);
  if (!tree.ok) return tree;
  return isRecord(tree.document) ? { ok: true, document: tree.document } : fail('is no map of JSON or YAML');
}

type Tree = { readonly ok: true; readonly document: unknown } | { readonly ok: false; readonly message: string };

function readJson(text: string): Tree {
  try {
    return { ok: true, document: JSON.parse(text) };
  } catch {
    // A flow map of YAML begins with a brace too.
    const yaml = readYaml(text);
    return yaml.ok ? yaml : fail('is neither JSON nor YAML');
  }
}

function readYaml(text: string): Tree {
  if (text.length > MAX_YAML) return fail('is YAML of over 1 MiB: give the same document as JSON');
  try {
    const tree = parseDocument(text, { uniqueKeys: false, merge: true, logLevel: 'silent' });
    const [fault] = tree.errors;
    if (fault) throw fault;
    if (ANCHOR.test(text) && looksOf(tree) > MAX_LOOKS)
      return fail('has too many aliases: give the same document as JSON, or without anchors');
    return { ok: true, document: tree.toJS({ maxAliasCount: MAX_ALIASES }) };
  } catch (error) {
    const [line = ''] = String((error as Error).message).split('\n');
    return fail(`cannot be read as YAML (${line.slice(0, 200)})`);
  }
}

function looksOf(tree: Document): number {
  let nodes = 0;
  let aliases = 0;
  visit(tree, {
    Node: () => {
      nodes += 1;
    },
    Alias: () => {
      aliases += 1;
    },
  });
  return nodes * aliases;
}

function fail(message: string): { readonly ok: false; readonly message: string } {
  return { ok: false, message };
}

function show(value: unknown): string {
  return String(value).slice(0, 20);
}
