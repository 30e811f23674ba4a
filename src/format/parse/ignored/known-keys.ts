import { isNear } from '../../values/is-near.js';
import { readYaml } from '../../yaml/read-yaml.js';
import type { Key, KeyTable } from '../read-keys.js';

/** How well a value fits a key. Prose rarely has `strong` values; it has `weak` ones, such as `2h`. */
export type Fit = 'no' | 'weak' | 'strong';

/** A key that a line of text may have been meant as. */
export interface KnownKey {
  readonly key: string;
  /** True if a gate, a limit, a condition or a secret is lost without it. */
  readonly isRisky: boolean;
  /** The value is a name or a list of names, so any word fits. */
  readonly isName: boolean;
  /** The value is an expression, so prose such as `When: the order is late` looks like it. */
  readonly isExpression: boolean;
  fit(value: string): Fit;
  /** The fault of a value that does not fit, as a sentence; null when unknown. */
  faultOf(value: string): string | null;
}

/** Keys by their letters only: `max_rounds`, `max-rounds`, `Max rounds` and `maxRounds` are equal. */
export type KnownKeys = ReadonlyMap<string, KnownKey>;

const RISKY: ReadonlySet<string> = new Set([
  ...['approve', 'need', 'edit', 'form', 'remind', 'escalate', 'self', 'wait', 'on_timeout', 'on_reject', 'on_fail'],
  ...['budget', 'on_budget', 'timeout', 'max_rounds', 'maxTurns', 'retry', 'parallel', 'concurrency', 'threshold'],
  ...['when', 'until', 'back_to', 'each', 'join', 'filter', 'from', 'enabled', 'dedupe'],
  ...['secrets', 'signature', 'signing_secret', 'tools', 'disallowedTools', 'network', 'methods', 'headers'],
]);
/** Keys with free text, and words that headings and tables often have. */
const PLAIN: ReadonlySet<string> = new Set(['description', 'name', 'title', 'tags', 'metadata', 'input', 'from']);

export function knownKeys(...tables: readonly KeyTable[]): KnownKeys {
  const entries = tables.flatMap((table) => Object.entries(table)).filter(([key]) => !PLAIN.has(key));
  // Of equal keys in two tables, the first counts.
  return new Map(entries.reverse().map(([key, spec]) => [lettersOf(key), knownKey(key, spec)]));
}

export function lettersOf(word: string): string {
  return word.replace(/[^A-Za-z]/g, '').toLowerCase();
}

/** The key that a word of a line names; null if none. */
export function findKey(keys: KnownKeys, word: string): KnownKey | null {
  return word.length > MAX_WORD ? null : (keys.get(lettersOf(word)) ?? null);
}

/** The key that differs from a word by one letter (one less, more or other). */
export function findNearKey(keys: KnownKeys, word: string): KnownKey | null {
  const letters = word.length > MAX_WORD ? '' : lettersOf(word);
  if (letters.length < 5) return null;
  for (const [other, near] of keys) {
    const isLike = other.length >= 5 && other[0] === letters[0] && Math.abs(other.length - letters.length) <= 1;
    if (isLike && isNear(letters, other)) return near;
  }
  return null;
}

const MAX_WORD = 40;

const NAME_TYPES: ReadonlySet<string> = new Set([
  'name',
  'string',
  'list of names',
  'list of string',
  'folder or `none`',
]);
const DECIDERS = '`human` or list of deciders';
/** Fields of an answer are described in this way: `- id: string`. */
const TYPE_WORDS = /^(?:string|text|number|integer|int|float|boolean|bool|object|array|list|date|uuid|url|email)s?$/i;
const NAMES = /^(?:\[[^[\]]*\]|[\w@.:/-]+(?:\s*,\s*[\w@.:/-]+)*)$/;
const CEL_KEYS: ReadonlySet<string> = new Set(['when', 'until', 'each', 'filter']);
const WORDS: ReadonlySet<string> = new Set(['stop', 'continue', 'reject', 'fail']);

function knownKey(key: string, spec: Key<unknown>): KnownKey {
  const isName = NAME_TYPES.has(spec.reader.type) && !CEL_KEYS.has(key);
  const fit = CEL_KEYS.has(key)
    ? celFit
    : (value: string): Fit => {
        if (readFault(spec, value) !== null || (isName && (!NAMES.test(value) || TYPE_WORDS.test(value)))) return 'no';
        return isStrong(key, spec.reader.type, value) ? 'strong' : 'weak';
      };
  const isExpression = CEL_KEYS.has(key);
  const faultOf = (value: string) => (isExpression ? null : readFault(spec, value));
  return { key, isRisky: RISKY.has(key), isName, isExpression, fit, faultOf };
}

/** The fault of a value; empty when it cannot be read and the reader gives no reason. */
function readFault(spec: Key<unknown>, value: string): string | null {
  const { node, faults } = readYaml(value, 0);
  if (faults.length > 0 || node === null || node.value === null) return '';
  const found: string[] = [];
  const read = spec.reader.read(node, (_offset, message) => {
    found.push(message);
    return undefined;
  });
  return found[0] ?? (read === undefined ? '' : null);
}

function isStrong(key: string, type: string, value: string): boolean {
  if (type === DECIDERS || /^(?:\[.*\]|\{.*\})$/.test(value)) return true;
  if (/secret/.test(key)) return /^[A-Z][A-Z0-9_]*(?:\s*,\s*[A-Z][A-Z0-9_]*)*$/.test(value);
  // A key of several words is rarely written by chance, but its words are: `back to draft`.
  return /[a-z][A-Z_]/.test(key) && (!NAME_TYPES.has(type) || WORDS.has(value));
}

const ROOT_PATH = /\b(?:input|steps|trigger|run|self)\s*[.[]/;
const COMPARES = /[=!<>]=|[<>]|&&|\|\|| in |\)/;
const PATH_ALONE = /^!?\(*[\w.[\]'"-]+\)*$/;

/** Prose rarely names data and compares it. Such text was meant as CEL, even if it is invalid. */
function celFit(value: string): Fit {
  if (/^(?:true|false|input)$/.test(value)) return 'weak';
  const namesData = ROOT_PATH.test(value) || (/\binput\b/.test(value) && COMPARES.test(value));
  return namesData && (COMPARES.test(value) || PATH_ALONE.test(value)) ? 'strong' : 'no';
}
