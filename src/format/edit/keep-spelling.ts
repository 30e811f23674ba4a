import { parseDocument } from 'yaml';
import { toJson } from '../../shared/exact-json.js';
import type { Json } from '../../shared/json.js';
import { readYaml } from '../yaml/read-yaml.js';

/**
 * How an option is to be written: as it is when it says that value already, be it given as a value or as a reader of
 * the flow is shown it. A comment behind it stays, whatever the value becomes.
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

/** The same value with its keys in the same order: to a form that is what people see. */
export function isSame(a: Json | undefined, b: Json): boolean {
  return toJson(a) === toJson(b);
}
