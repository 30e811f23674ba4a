import { parse } from 'yaml';
import { isRecord, type Json } from '../../shared/json.js';

const PLAIN = /^[A-Za-z0-9_$./][\w./@$+ -]*$/;

/** A value as YAML on one line: `[a, b]`, `{ a: 1 }`, quoted only where necessary. */
export function printYaml(value: Json): string {
  if (typeof value === 'string') return printText(value);
  if (Array.isArray(value)) return `[${value.map((entry) => printYaml(entry as Json)).join(', ')}]`;
  if (!isRecord(value)) return String(value);
  const entries = Object.entries(value).map(([key, entry]) => `${printText(key)}: ${printYaml(entry as Json)}`);
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`;
}

function printText(text: string): string {
  if (PLAIN.test(text) && !text.endsWith(' ') && parse(text, { version: '1.2', schema: 'core' }) === text) return text;
  // JSON's quoting is valid YAML, except for these characters, which YAML folds or forbids.
  return JSON.stringify(text).replace(/[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g, escapeUnit);
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
