import { didYouMean } from '../../shared/closest.js';
import { isNear } from '../values/is-near.js';
import type { YamlEntry, YamlNode } from '../yaml/read-yaml.js';
import type { Fail, Reader } from './reader.js';
import { type Findings, report } from './source.js';

export interface Key<T> {
  readonly reader: Reader<T>;
  readonly description: string;
  readonly required?: boolean;
  /** The code of a bad value when it is not `<kind>/bad-value`. */
  readonly code?: string;
}
export type KeyTable = Readonly<Record<string, Key<unknown>>>;

/** The valid values of a map, read by a table's readers, with their offsets. */
export interface KeyValues<T extends KeyTable> {
  readonly values: { readonly [K in keyof T]?: T[K] extends Key<infer V> ? V : never };
  /** The offset of a key's value; 0 when the key is absent. */
  at(key: keyof T & string): number;
  has(key: keyof T & string): boolean;
  /** The value under an unknown key that was probably meant to be this one, when this one is absent. */
  misspelt(key: keyof T & string): YamlNode | undefined;
  /** Whether the key is there, misspelled or not: a misspelled key is not reported as missing too. */
  may(key: keyof T & string): boolean;
}

export interface ReadKeysOptions {
  /** The first part of the codes: `flow` for `flow/unknown-key` and `flow/bad-value`. */
  readonly kind: string;
  /** The code of an unknown key when it is not `<kind>/unknown-key`. */
  readonly unknown?: string;
  /** Keys of other products that are ignored here, with the warning for each. */
  readonly ignored?: ReadonlySet<string>;
  /** False when the YAML has faults: then no missing key is reported. */
  readonly sound?: boolean;
  /** Where a missing required key is reported. */
  readonly missingAt?: number;
}

export function key<T>(
  reader: Reader<T>,
  description: string,
  more: { required?: boolean; code?: string } = {},
): Key<T> {
  return { reader, description, ...more };
}

/** Reads a map by a table. A key with an empty value counts as absent; an unknown one is an error. */
export function readKeys<T extends KeyTable>(
  findings: Findings,
  table: T,
  { node, ...options }: ReadKeysOptions & { readonly node: YamlNode | null },
): KeyValues<T> {
  const values: Record<string, unknown> = {};
  const offsets = new Map<string, number>();
  const unknown: YamlEntry[] = [];
  if (node !== null && node.entries === undefined && node.value !== null) {
    report(findings, node.offset, { code: `${options.kind}/bad-value`, message: 'This must be `key: value` lines.' });
  }
  for (const entry of node?.entries?.values() ?? []) {
    const known = Object.hasOwn(table, entry.key) ? table[entry.key] : undefined;
    if (known === undefined) {
      unknown.push(entry);
      reportUnknown(findings, entry, { ...options, known: Object.keys(table) });
      continue;
    }
    if (entry.node.value === null) continue;
    offsets.set(entry.key, entry.node.offset);
    const fail: Fail = (offset, message, hint) => {
      report(findings, offset, {
        code: known.code ?? `${options.kind}/bad-value`,
        message: `\`${entry.key}\`: ${message}`,
        hint,
      });
      return undefined;
    };
    const value = known.reader.read(entry.node, fail);
    if (value !== undefined) values[entry.key] = value;
  }
  const has = (name: string) => offsets.has(name);
  const misspelt = (name: string) => (has(name) ? undefined : unknown.find(({ key }) => isNear(key, name))?.node);
  const may = (name: string) => has(name) || misspelt(name) !== undefined;
  if (options.sound !== false) reportMissing(findings, table, { ...options, may });
  return {
    values: values as KeyValues<T>['values'],
    at: (name) => offsets.get(name) ?? options.missingAt ?? 0,
    has,
    misspelt,
    may,
  };
}

function reportUnknown(
  findings: Findings,
  entry: { readonly key: string; readonly offset: number },
  { kind, ignored, unknown = `${kind}/unknown-key`, known }: ReadKeysOptions & { readonly known: readonly string[] },
): void {
  const name = entry.key.length > 60 ? `${entry.key.slice(0, 57)}…` : entry.key;
  if (ignored?.has(entry.key)) {
    const message = `The key \`${name}\` is Claude Code's; it has no effect here.`;
    report(findings, entry.offset, { code: `${kind}/ignored-key`, severity: 'warning', message });
    return;
  }
  const hint = () => didYouMean(entry.key, known) ?? `The keys are: ${known.join(', ')}.`;
  report(findings, entry.offset, { code: unknown, message: `There is no key \`${name}\` here.`, hint });
}

function reportMissing<T extends KeyTable>(
  findings: Findings,
  table: T,
  { kind, missingAt = 0, may }: ReadKeysOptions & { readonly may: (name: string) => boolean },
): void {
  for (const [name, { required }] of Object.entries(table)) {
    if (required && !may(name)) report(findings, missingAt, missingKey(kind, name));
  }
}

export function missingKey(kind: string, name: string) {
  return { code: `${kind}/bad-value`, message: `The key \`${name}\` is missing.`, hint: `Add \`${name}:\`.` };
}
