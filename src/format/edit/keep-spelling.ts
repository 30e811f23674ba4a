import { parseDocument } from 'yaml';
import { toJson } from '../../shared/exact-json.js';
import type { Json } from '../../shared/json.js';
import { readYaml } from '../yaml/read-yaml.js';

/**
 * The text of an option: unchanged when it already has that value, given as a value or as its text. Keeps a comment
 * after the value.
 */
export function keepSpelling(written: string, value: Json, printed: string): string {
  if (value === written) return written;
  const { node, faults } = readYaml(written);
  if (faults.length > 0 || node === null) return printed;
  if (isSame(node.value, value)) return written;
  const end = parseDocument(written, { version: '1.2', schema: 'core' }).contents?.range?.[1] ?? written.length;
  const behind = written.slice(end);
  return behind.trimStart().startsWith('#') ? printed + behind : printed;
}

/** True for equal values with their keys in the same order, since a form shows the order. */
export function isSame(a: Json | undefined, b: Json): boolean {
  return toJson(a) === toJson(b);
}
