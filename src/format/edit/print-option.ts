import type { Json } from '../../shared/json.js';
import type { Reader } from '../parse/reader.js';
import { RAW_OPTIONS, STEP_OPTIONS } from '../parse/step-options.js';
import { readYaml } from '../yaml/read-yaml.js';
import { printYaml } from './print-yaml.js';

const READERS: ReadonlyMap<string, Reader<unknown>> = new Map(
  Object.entries(STEP_OPTIONS).map(([key, { reader }]) => [key, reader]),
);

/**
 * The value as text after `key: `; undefined when it cannot be written there. A string that is a valid notation of the
 * option (`{ max: 3 }`, `[a, b]`, `2`) is written unquoted, as flows show it.
 */
export function printOption(key: string, value: Json): string | undefined {
  if (RAW_OPTIONS.has(key)) {
    const source = typeof value === 'string' ? value.trim() : typeof value === 'boolean' ? String(value) : '';
    return source === '' || /[\r\n]/.test(source) ? undefined : source;
  }
  const printed = printYaml(value);
  if (typeof value !== 'string') return printed;
  const spelled = value.trim();
  if (/[\r\n]/.test(spelled) || !acceptsValue(key, spelled)) return printed;
  return /^[[{"']/.test(spelled) || !acceptsValue(key, printed) ? spelled : printed;
}

/** True if the option accepts the text, checked on its own. */
function acceptsValue(key: string, written: string): boolean {
  const { node, faults } = readYaml(written);
  if (node === null || faults.length > 0) return false;
  let isTaken = true;
  const value = READERS.get(key)?.read(node, () => {
    isTaken = false;
    return undefined;
  });
  return isTaken && value !== undefined;
}
