import { CST, isMap, isScalar, isSeq, Lexer, type Pair, type ParsedNode, Parser, parseDocument } from 'yaml';
import { exactInteger } from '../../shared/exact-json.js';
import type { Json } from '../../shared/json.js';

/** No real document is this deep. Deeper ones would only exhaust the stack. */
const MAX_DEPTH = 40;

/** Maximum number of tokens; a line of `key: value` has eight. Every token takes about the same time to read. */
const MAX_PARTS = 40_000;

const MARKS: Readonly<Record<string, ScanFault['kind']>> = {
  tag: 'tag',
  anchor: 'anchor',
  alias: 'alias',
  'directive-line': 'directive',
};

/** A value with the places of its parts; offsets are into the text that holds the YAML. */
export interface YamlNode {
  readonly value: Json;
  readonly offset: number;
  /** A scalar as spelled: `3.10` is the number 3.1. */
  readonly source?: string;
  readonly entries?: ReadonlyMap<string, YamlEntry>;
  readonly items?: readonly YamlNode[];
}

export interface YamlEntry {
  readonly key: string;
  readonly offset: number;
  readonly node: YamlNode;
}

interface YamlFault {
  readonly code: 'yaml/syntax' | 'yaml/duplicate-key' | 'yaml/alias';
  readonly offset: number;
  readonly message: string;
  readonly hint?: string;
}

export interface YamlRead {
  /** Null for an empty document, or when a fault leaves no value. */
  readonly node: YamlNode | null;
  readonly faults: readonly YamlFault[];
}

const QUOTE = 'Put the value in quotes.';

const MAX_SYNTAX_FAULTS = 20;

const SCAN: Readonly<Record<ScanFault['kind'], (text: string) => Omit<YamlFault, 'offset'>>> = {
  tag: (text) => ({ code: 'yaml/alias', message: `The YAML tag \`${text}\` is not supported.`, hint: QUOTE }),
  anchor: (text) => ({ code: 'yaml/alias', message: `The YAML anchor \`${text}\` is not supported.`, hint: QUOTE }),
  alias: (text) => ({ code: 'yaml/alias', message: `The YAML alias \`${text}\` is not supported.`, hint: QUOTE }),
  depth: () => ({ code: 'yaml/syntax', message: 'This nests deeper than 40 levels.' }),
  parts: () => ({
    code: 'yaml/syntax',
    message: `This YAML has more than ${MAX_PARTS} parts: keys, values, signs and ends of lines.`,
  }),
  directive: (text) => ({ code: 'yaml/syntax', message: `The YAML directive \`${text}\` is not supported.` }),
};

/**
 * Reads one YAML 1.2 document (core schema). Tags, anchors, aliases, merge keys, duplicate keys and collections as keys
 * are faults. `base` is the offset of `source` in the text that the offsets refer to.
 */
export function readYaml(source: string, base = 0): YamlRead {
  const scanned = scanYaml(source).map(({ kind, offset, text }) => ({ ...SCAN[kind](text), offset: base + offset }));
  if (scanned.length > 0) return { node: null, faults: scanned };
  const document = parseDocument(source, {
    version: '1.2',
    schema: 'core',
    merge: false,
    // The library's own check is quadratic; entries() finds duplicate keys.
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'silent',
  });
  const faults: YamlFault[] = document.errors.slice(0, MAX_SYNTAX_FAULTS).map((error) => ({
    code: 'yaml/syntax',
    offset: base + error.pos[0],
    message: `This is not valid YAML: ${error.message.replace(/\s+/g, ' ')}.`,
    hint: 'Values with `: `, ` #` or a leading sign such as `@`, `{` or `[` need quotes.',
  }));
  if (faults.length > 0 || document.contents === null) return { node: null, faults };
  const node = toNode(document.contents as ParsedNode, base, faults);
  return { node, faults };
}

function toNode(node: ParsedNode, base: number, faults: YamlFault[]): YamlNode {
  const offset = base + node.range[0];
  if (isMap(node)) return toMap(node.items as Pair<ParsedNode, ParsedNode | null>[], { base, offset, faults });
  if (isSeq(node)) {
    const items = node.items.map((item) => toNode(item as ParsedNode, base, faults));
    return { value: items.map((item) => item.value), offset, items };
  }
  const value = isScalar(node) ? node.value : null;
  if (typeof value === 'number' && !Number.isFinite(value)) {
    faults.push({ code: 'yaml/syntax', offset, message: 'A number here must be finite.', hint: QUOTE });
    return { value: null, offset };
  }
  const source = isScalar(node) ? node.source : undefined;
  if (isLarge(value, source)) return { value: exactInteger(BigInt(source)), offset, source };
  return { value: value as Json, offset, ...(source === undefined ? {} : { source }) };
}

/** Not more digits than JSON may have here. */
const INTEGER = /^[-+]?\d{1,1000}$/;

function isLarge(value: unknown, source: string | undefined): source is string {
  return typeof value === 'number' && !Number.isSafeInteger(value) && INTEGER.test(source ?? '');
}

interface MapPlace {
  readonly base: number;
  readonly offset: number;
  readonly faults: YamlFault[];
}

function toMap(pairs: readonly Pair<ParsedNode, ParsedNode | null>[], place: MapPlace): YamlNode {
  const { base, offset, faults } = place;
  const entries = new Map<string, YamlEntry>();
  for (const { key: keyNode, value } of pairs) {
    const at = base + keyNode.range[0];
    if (!isScalar(keyNode)) {
      const message = 'A list or a map cannot be a key.';
      faults.push({
        code: 'yaml/alias',
        offset: at,
        message,
        hint: 'Put a value such as `{{input.order}}` in quotes.',
      });
      continue;
    }
    const key = typeof keyNode.value === 'string' ? keyNode.value : (keyNode.source ?? '');
    if (key === '<<')
      faults.push({ code: 'yaml/alias', offset: at, message: 'The YAML merge key `<<` is not supported.' });
    if (entries.has(key)) {
      const message = `The key \`${key}\` occurs twice.`;
      faults.push({ code: 'yaml/duplicate-key', offset: at, message, hint: 'Keep one of the two.' });
      continue;
    }
    const node: YamlNode = value === null ? { value: null, offset: at } : toNode(value, base, faults);
    entries.set(key, { key, offset: at, node });
  }
  const value = Object.fromEntries([...entries].map(([key, entry]) => [key, entry.node.value]));
  return { value, offset, entries };
}

interface ScanFault {
  readonly kind: 'tag' | 'anchor' | 'alias' | 'depth' | 'parts' | 'directive';
  readonly offset: number;
  readonly text: string;
}

/**
 * Scans the tokens for faults before anything is composed, in linear time. Stops at the first place that nests too
 * deep, or when there are too many parts.
 */
function scanYaml(source: string): ScanFault[] {
  const faults: ScanFault[] = [];
  const parser = new Parser();
  let previous = '';
  let parts = 0;
  for (const lexeme of new Lexer().lex(source)) {
    // A scalar's text is a separate lexeme after a control mark, and may begin with any sign.
    const kind = previous === CST.SCALAR ? undefined : MARKS[CST.tokenType(lexeme) ?? ''];
    const { offset } = parser;
    if (kind !== undefined) faults.push({ kind, offset, text: lexeme.trim().slice(0, 60) });
    for (const _token of parser.next(lexeme));
    if (parser.stack.length > MAX_DEPTH) return [...faults, { kind: 'depth', offset, text: '' }];
    parts += 1;
    if (parts > MAX_PARTS) return [...faults, { kind: 'parts', offset, text: '' }];
    previous = lexeme;
  }
  return faults;
}
