import { readYaml, type YamlEntry, type YamlNode } from '../yaml/read-yaml.js';
import type { OpenFile } from './open-file.js';
import type { OptionLine } from './options.js';
import { type KeyTable, type KeyValues, readKeys } from './read-keys.js';
import { type Findings, report } from './source.js';
import { RAW_OPTIONS } from './step-options.js';

export interface OptionContext<O extends KeyTable> {
  readonly lines: readonly OptionLine[];
  readonly missingAt: number;
  /** Options of another kind of heading, for a better message. */
  readonly elsewhere?: O;
}

const QUOTE = 'Put the value in quotes.';

/** Reads the option lines of a heading by a table. */
export function readOptionValues<T extends KeyTable, O extends KeyTable>(
  file: OpenFile,
  table: T,
  { lines, missingAt, elsewhere }: OptionContext<O>,
): KeyValues<T> {
  const entries = new Map<string, YamlEntry>();
  for (const line of lines) {
    if (entries.has(line.key)) {
      const message = `The option \`${line.key}\` occurs twice.`;
      report(file, line.offset, { code: 'yaml/duplicate-key', message, hint: 'Keep one of the two.' });
    } else if (elsewhere && !Object.hasOwn(table, line.key) && Object.hasOwn(elsewhere, line.key)) {
      const message = `\`${line.key}\` belongs to a step; this heading is a group of parallel branches.`;
      report(file, line.offset, { code: 'step/unknown-option', message, hint: 'Move it to a `###` branch.' });
    } else {
      // For an unknown option, report only that, not faults of its value.
      const known = Object.hasOwn(table, line.key);
      const node = known ? readOption(file, line) : { value: line.value, offset: line.valueOffset };
      if (node) entries.set(line.key, { key: line.key, offset: line.offset, node });
    }
  }
  const node: YamlNode = { value: {}, offset: missingAt, entries };
  return readKeys(file, table, { node, kind: 'step', unknown: 'step/unknown-option', missingAt });
}

/** Undefined, with a fault, for an invalid value. */
function readOption(file: Findings, { key, value, valueOffset, offset }: OptionLine): YamlNode | undefined {
  if (value === '') {
    report(file, offset, { code: 'step/bad-value', message: `The option \`${key}\` has no value.` });
    return undefined;
  }
  if (RAW_OPTIONS.has(key)) return { value, offset: valueOffset };
  const { node, faults } = readYaml(value, valueOffset);
  for (const { offset: at, code, message, hint } of faults) {
    const isKey = code === 'yaml/duplicate-key';
    report(file, at, {
      code: isKey ? code : 'step/bad-value',
      message: `\`${key}\`: ${message}`,
      hint: isKey ? hint : QUOTE,
    });
  }
  if (faults.length === 0 && (node === null || node.value === null)) {
    report(file, valueOffset, { code: 'step/bad-value', message: `The option \`${key}\` has no value.` });
    return undefined;
  }
  return faults.length > 0 || node === null ? undefined : node;
}
