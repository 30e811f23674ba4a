import { didYouMean } from '../../shared/closest.js';
import { parseDuration } from '../../shared/duration.js';
import { toJson } from '../../shared/exact-json.js';
import type { Json, JsonObject } from '../../shared/json.js';
import { parseMoney } from '../values/money.js';
import type { YamlNode } from '../yaml/read-yaml.js';

/** Reports a fault of a value, and returns undefined so that a reader can return it. */
export type Fail = (offset: number, message: string, hint?: string) => undefined;

/** Reads one value. The tables of keys consist of these, and `/vocabulary` is generated from the tables. */
export interface Reader<T> {
  readonly type: string;
  readonly values?: readonly string[];
  read(node: YamlNode, fail: Fail): T | undefined;
}

/** A name in a file, with its offset, to be resolved when the whole tree is known. */
export interface Ref {
  readonly name: string;
  readonly offset: number;
}

/**
 * Creates a reader from its type, a text for what it accepts, and a function that returns undefined for an invalid
 * value.
 */
export function reader<T>(
  type: string,
  wants: string,
  convert: (value: Json, node: YamlNode) => T | undefined,
): Reader<T> {
  return {
    type,
    read: (node, fail) =>
      convert(node.value, node) ?? fail(node.offset, `This must be ${wants}, not ${show(node.value)}.`),
  };
}

export function show(value: Json): string {
  const text = toJson(value);
  return `\`${text.length > 60 ? `${text.slice(0, 57)}…` : text}\``;
}

export const text = reader('string', 'a text', (value) => (typeof value === 'string' ? value : undefined));

/** A name or a version. Numbers and booleans count as they are spelled. */
export const word = reader('string', 'a word', (value, node) => {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value;
  return ['number', 'bigint', 'boolean'].includes(typeof value) ? (node.source ?? String(value)) : undefined;
});

export const flag = reader('boolean', '`true` or `false`', (value) => (typeof value === 'boolean' ? value : undefined));

export const money = reader('money', 'an amount in USD such as `0.80` or `$1.50`', (value) =>
  typeof value === 'number' || typeof value === 'string' ? parseMoney(value) : undefined,
);

/** Milliseconds. */
export const duration = reader('duration', 'a duration such as `90s`, `5m`, `2h`, `3d` or `1w`', (value) =>
  typeof value === 'string' ? parseDuration(value) : undefined,
);

/** A process's timer for more than 2^31 ms would fire at once. */
const MOST_SECONDS = 2_147_483;

/** Seconds of one call, as a number or a duration. More than 24 days count as the longest timer of a process. */
export const seconds = reader('seconds', 'a number of seconds, or a duration such as `90s`', (value) => {
  if (typeof value === 'number') return value > 0 && value <= 1_000_000_000 ? Math.min(value, MOST_SECONDS) : undefined;
  const ms = typeof value === 'string' ? parseDuration(value) : undefined;
  return ms === undefined ? undefined : Math.min(ms / 1_000, MOST_SECONDS);
});

export const object = reader('map', 'a map of keys and values', (value, node) =>
  node.entries === undefined ? undefined : (value as JsonObject),
);

export const json: Reader<Json> = { type: 'any', read: (node) => node.value };

export function integer(least: number, most: number): Reader<number> {
  return reader('integer', `a whole number from ${least} to ${most}`, (value) =>
    typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most ? value : undefined,
  );
}

export function fraction(): Reader<number> {
  return reader('number', 'a number from 0 to 1', (value) =>
    typeof value === 'number' && value >= 0 && value <= 1 ? value : undefined,
  );
}

export function oneOf<const T extends string>(values: readonly T[]): Reader<T> {
  const list = values.map((value) => `\`${value}\``).join(', ');
  return {
    type: 'choice',
    values,
    read: (node, fail) => {
      const found = values.find((value) => value === node.value);
      if (found !== undefined) return found;
      const hint = typeof node.value === 'string' ? didYouMean(node.value, values) : undefined;
      return fail(node.offset, `This must be one of ${list}, not ${show(node.value)}.`, hint);
    },
  };
}
