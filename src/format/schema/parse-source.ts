import { toDoubles } from '../../shared/exact-json.js';
import { readYaml, type YamlNode } from '../yaml/read-yaml.js';

export type Parsed =
  | { ok: true; value: unknown; lineOf: (path: readonly string[]) => number }
  | { ok: false; message: string; line: number };

const MAX_SOURCE = 64 * 1024;

/** Parses the text of a schema block. `lineOf` returns the line, from 1, of the key at a path. */
export function parseSource(source: string, language: 'yaml' | 'json'): Parsed {
  if (source.length > MAX_SOURCE) return { ok: false, message: 'the schema is longer than 64 KiB', line: 1 };
  return language === 'json' ? parseJson(source) : parseYaml(source);
}

function parseYaml(source: string): Parsed {
  const { node, faults } = readYaml(source);
  const [fault] = faults;
  if (fault) return { ok: false, message: fault.message, line: lineAt(source, fault.offset) };
  const lineOf = (path: readonly string[]) => lineAt(source, keyOffset(node, path));
  // The limits in a schema are compared as doubles.
  return { ok: true, value: toDoubles(node?.value ?? null), lineOf };
}

/** The offset of the last existing key of the path. */
function keyOffset(root: YamlNode | null, path: readonly string[]): number {
  let node = root;
  let offset = 0;
  for (const name of path) {
    const entry = node?.entries?.get(name);
    if (!entry) break;
    offset = entry.offset;
    node = entry.node;
  }
  return offset;
}

function parseJson(source: string): Parsed {
  try {
    return { ok: true, value: JSON.parse(source), lineOf: () => 1 };
  } catch (error) {
    const text = (error as Error).message;
    const at = Number(/at position (\d+)/.exec(text)?.[1] ?? (/end of JSON/.test(text) ? source.trimEnd().length : 0));
    return { ok: false, message: `invalid JSON: ${text}`, line: lineAt(source, at) };
  }
}

function lineAt(source: string, offset: number): number {
  return source.slice(0, offset).split(/\r\n|\n|\r/).length;
}
