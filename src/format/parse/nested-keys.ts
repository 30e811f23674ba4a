import { didYouMean } from '../../shared/closest.js';
import { isNear } from '../values/is-near.js';
import type { YamlNode } from '../yaml/read-yaml.js';
import type { KeyTable, KeyValues } from './read-keys.js';
import { type Fail, show } from './reader.js';

/** Reads a map inside a value by its own table. Its faults are faults of the value. Undefined when it is not a map. */
export function nestedKeys<T extends KeyTable>(
  table: T,
  node: YamlNode,
  fail: Fail,
): KeyValues<T>['values'] | undefined {
  const known = Object.keys(table);
  if (node.entries === undefined) {
    return fail(node.offset, `This must be a map with the keys ${known.join(', ')}, not ${show(node.value)}.`);
  }
  const values: Record<string, unknown> = {};
  for (const { key, offset, node: value } of node.entries.values()) {
    const spec = Object.hasOwn(table, key) ? table[key] : undefined;
    if (spec === undefined) {
      fail(offset, `There is no key \`${key}\` here.`, didYouMean(key, known) ?? `The keys are: ${known.join(', ')}.`);
    } else if (value.value !== null) {
      const read = spec.reader.read(value, fail);
      if (read !== undefined) values[key] = read;
    }
  }
  for (const [key, { required }] of Object.entries(table)) {
    if (required && !mayHaveKey(node, key)) fail(node.offset, `The key \`${key}\` is missing.`);
  }
  return values as KeyValues<T>['values'];
}

/** Whether a map has the key, misspelled or not. */
export function mayHaveKey({ entries }: YamlNode, key: string): boolean {
  return [...(entries?.keys() ?? [])].some((name) => isNear(name, key));
}
