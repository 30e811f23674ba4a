import { isAlias, LineCounter, parseDocument, visit } from 'yaml';

export type Parsed =
  | { ok: true; value: unknown; lineOf: (path: readonly string[]) => number }
  | { ok: false; message: string; line: number };

const MAX_SOURCE = 64 * 1024;

/** Reads the text of a schema block; `lineOf` gives the line, from 1, of the key that a path leads to. */
export function parseSource(source: string, language: 'yaml' | 'json'): Parsed {
  if (source.length > MAX_SOURCE) return { ok: false, message: 'the schema is longer than 64 KiB', line: 1 };
  return language === 'json' ? parseJson(source) : parseYaml(source);
}

function parseYaml(source: string): Parsed {
  const lines = new LineCounter();
  const document = parseDocument(source, {
    lineCounter: lines,
    version: '1.2',
    schema: 'core',
    uniqueKeys: true,
    prettyErrors: false,
  });
  const [error] = [...document.errors, ...document.warnings];
  if (error)
    return { ok: false, message: `the YAML is not readable: ${error.message}`, line: lines.linePos(error.pos[0]).line };
  const strange = findStrange(document);
  if (strange) return { ok: false, message: strange.message, line: lines.linePos(strange.at).line };
  const lineOf = (path: readonly string[]) => {
    const start = keyStart(document.contents, path);
    return start === undefined ? 1 : lines.linePos(start).line;
  };
  return { ok: true, value: document.toJS({ maxAliasCount: 0 }), lineOf };
}

function findStrange(document: ReturnType<typeof parseDocument>): { message: string; at: number } | undefined {
  let found: { message: string; at: number } | undefined;
  visit(document, {
    Node: (_key, node) => {
      const at = node.range?.[0] ?? 0;
      if (isAlias(node) || ('anchor' in node && node.anchor))
        found ??= { message: 'anchors and aliases are not allowed', at };
      else if (node.tag && !node.tag.startsWith('tag:yaml.org,2002:'))
        found ??= { message: 'tags are not allowed', at };
      return found ? visit.BREAK : undefined;
    },
    Pair: (_key, pair) => {
      const key = pair.key as { range?: [number, number, number]; value?: unknown } | null;
      if (key && 'items' in key) found ??= { message: 'a key is plain text', at: key.range?.[0] ?? 0 };
      return found ? visit.BREAK : undefined;
    },
  });
  return found;
}

function keyStart(contents: unknown, path: readonly string[]): number | undefined {
  let node = contents;
  let start: number | undefined;
  for (const name of path) {
    const items = (
      node as { items?: readonly { key?: { value?: unknown; range?: number[] }; value?: unknown }[] } | null
    )?.items;
    const pair = items?.find((item) => String(item.key?.value) === name);
    if (!pair) return start;
    start = pair.key?.range?.[0];
    node = pair.value;
  }
  return start;
}

function parseJson(source: string): Parsed {
  try {
    return { ok: true, value: JSON.parse(source), lineOf: () => 1 };
  } catch (error) {
    const text = (error as Error).message;
    const at = Number(/at position (\d+)/.exec(text)?.[1] ?? (/end of JSON/.test(text) ? source.trimEnd().length : 0));
    return { ok: false, message: `the JSON is not readable: ${text}`, line: source.slice(0, at).split('\n').length };
  }
}
