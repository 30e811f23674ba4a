import { type Document, isNode, LineCounter, parseDocument } from 'yaml';
import { exactInteger } from '../shared/exact-json.js';
import { isRecord } from '../shared/json.js';
import { errorMessage } from '../shared/refusal.js';

export interface YamlFile {
  readonly value: unknown;
  /** The line of the value at a path, or of its nearest existing parent. */
  lineOf(path: readonly PropertyKey[]): number;
}

/** Reads YAML (JSON is YAML too). Throws an Error that names every fault with its line; alias bombs are one. */
export function readYaml(text: string, path: string): YamlFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, intAsBigInt: true });
  const faults = document.errors.map(
    (error) => `line ${lines.linePos(error.pos[0]).line}: ${firstLine(error.message)}`,
  );
  if (faults.length > 0) throw new Error(`${path} is not valid YAML: ${faults.join('; ')}`);
  return {
    value: toValue(document, path),
    lineOf: (at) => lines.linePos(offsetOf(document, at)).line,
  };
}

function toValue(document: Document, path: string): unknown {
  try {
    return withDoubles(document.toJS());
  } catch (error) {
    throw new Error(`${path} is not valid YAML: ${errorMessage(error)}`);
  }
}

/** Converts bigints to numbers where a double holds them. */
function withDoubles(value: unknown): unknown {
  if (typeof value === 'bigint') return exactInteger(value);
  if (Array.isArray(value)) return value.map(withDoubles);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, withDoubles(entry)]));
}

function offsetOf(document: Document, path: readonly PropertyKey[]): number {
  for (let length = path.length; length >= 0; length -= 1) {
    const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return node.range[0];
  }
  return 0;
}

function firstLine(text: string): string {
  return (text.split('\n')[0] ?? text).replace(/ at line \d+, column \d+:?$/, '');
}
