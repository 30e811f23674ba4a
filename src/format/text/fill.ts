import { toJson } from '../../shared/exact-json.js';
import { isRecord, type Json } from '../../shared/json.js';
import { PATH } from './read-text.js';

type Roots = Readonly<Record<string, Json>>;

/** The value at a path in the roots; undefined when a part is missing. */
export function renderPath(path: string, roots: Roots): Json | undefined {
  let value: Json | undefined = roots;
  for (const key of keysOf(path)) {
    if (Array.isArray(value)) value = /^\d+$/.test(key) ? (value[Number(key)] as Json | undefined) : undefined;
    else if (isRecord(value) && Object.hasOwn(value, key)) value = value[key] as Json;
    else return undefined;
  }
  return value;
}

/** The keys of a path. Senders spell header names in any way; they are stored in lower case with `_`. */
function keysOf(path: string): string[] {
  const [root = '', part, name, ...rest] = path.split('.');
  if (root !== 'trigger' || part !== 'headers' || name === undefined) return path.split('.');
  return [root, part, name.toLowerCase().replaceAll('-', '_'), ...rest];
}

const VALUE = /\\\{\{|\{\{([^{}]*)\}\}/g;

/**
 * Fills the `{{path}}` marks of a `with:` value, at any depth. A string that is exactly one mark gets the value with
 * its type (null when missing). Within other text the value is written out, and a missing one is empty.
 */
export function fillWith(value: Json, roots: Roots): Json {
  if (typeof value === 'string') return fillString(value, roots);
  if (Array.isArray(value)) return value.map((entry) => fillWith(entry as Json, roots));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, fillWith(entry as Json, roots)]));
}

function fillString(text: string, roots: Roots): Json {
  const whole = /^\{\{([^{}]*)\}\}$/.exec(text)?.[1]?.trim();
  if (whole !== undefined && PATH.test(whole)) return renderPath(whole, roots) ?? null;
  return text.replace(VALUE, (mark, inner: string | undefined) => {
    if (inner === undefined) return '{{';
    const path = inner.trim();
    return PATH.test(path) ? written(renderPath(path, roots)) : mark;
  });
}

function written(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : toJson(value);
}
