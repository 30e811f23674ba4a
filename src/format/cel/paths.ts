import {
  type CelInput,
  type CelList,
  CelScalar,
  type CelType,
  type CelValue,
  celFunc,
  celList,
  isCelList,
  isCelMap,
  isCelUint,
  listType,
  mapType,
} from '@bufbuild/cel';
import { isRecord, type Json } from '../../shared/json.js';
import { fromJson } from './convert.js';
import { binding, charge } from './meter.js';

const { BOOL, DYN, STRING } = CelScalar;
const LIST = listType(DYN);

const TYPES: Readonly<Record<string, CelType>> = {
  bool: CelScalar.BOOL,
  bytes: CelScalar.BYTES,
  double: CelScalar.DOUBLE,
  int: CelScalar.INT,
  list: LIST,
  map: mapType(DYN, DYN),
  null_type: CelScalar.NULL,
  string: CelScalar.STRING,
  type: CelScalar.TYPE,
  uint: CelScalar.UINT,
};

export const isTypeName = (name: string) => Object.hasOwn(TYPES, name);

/**
 * Paths from the roots walk plain JSON and convert only the value at their end. The `has` twins return whether it
 * exists.
 */
export const pathFunctions = [
  celFunc('@get', [STRING, LIST], DYN, (name, parts): CelInput => {
    const root = binding(name);
    if (root === undefined && parts.size === 0 && isTypeName(name)) return TYPES[name] ?? null;
    if (root === undefined) throw new Error(missing(name, parts, 0));
    const value = walk<Json>(root, name, asHeader(name, parts), jsonPart);
    return fromJson(name === 'trigger' && parts.size === 1 && parts.get(0) === 'headers' ? withHyphens(value) : value);
  }),
  celFunc('@has_get', [STRING, LIST], BOOL, (name, parts) => {
    const root = binding(name);
    return root !== undefined && leads<Json>(root, asHeader(name, parts), jsonPart);
  }),
  celFunc('@path', [DYN, STRING, LIST], DYN, (root, name, parts) => walk<CelValue>(root, name, parts, celPart)),
  celFunc('@has_path', [DYN, STRING, LIST], BOOL, (root, _name, parts) => leads<CelValue>(root, parts, celPart)),
];

/**
 * Converts a header's name as senders write it (`trigger.headers['X-GitHub-Event']`) to the stored form: lower case,
 * `_`.
 */
function asHeader(root: string, parts: CelList): CelList {
  const [first, second, ...rest] = parts;
  if (root !== 'trigger' || first !== 'headers' || typeof second !== 'string') return parts;
  return celList([first, second.toLowerCase().replaceAll('-', '_'), ...rest]);
}

/** Adds the names with hyphens, for `'x-github-event' in trigger.headers`. */
function withHyphens(value: Json): Json {
  if (!isRecord(value)) return value;
  const named = Object.entries(value).map(([name, entry]) => [name.replaceAll('_', '-'), entry]);
  return { ...Object.fromEntries(named), ...value } as Json;
}

type Part<T> = (value: T, key: CelValue) => T | undefined;

function walk<T>(root: T, name: string, parts: CelList, part: Part<T>): T {
  let value = root;
  let depth = 0;
  for (const key of parts) {
    charge(1);
    depth += 1;
    const next = part(value, key);
    if (next === undefined) throw new Error(missing(name, parts, depth));
    value = next;
  }
  return value;
}

function leads<T>(root: T, parts: CelList, part: Part<T>): boolean {
  let value: T | undefined = root;
  for (const key of parts) {
    charge(1);
    value = part(value, key);
    if (value === undefined) return false;
  }
  return true;
}

function jsonPart(value: Json, key: CelValue): Json | undefined {
  if (Array.isArray(value)) return value[indexOf(key)];
  if (typeof key !== 'string' || !isRecord(value) || !Object.hasOwn(value, key)) return undefined;
  return value[key] as Json;
}

function celPart(value: CelValue, key: CelValue): CelValue | undefined {
  if (isCelList(value)) return value.get(indexOf(key));
  if (!isCelMap(value)) return undefined;
  return isKey(key) ? value.get(key) : undefined;
}

function isKey(key: CelValue): key is string | bigint | number | boolean {
  return ['string', 'bigint', 'number', 'boolean'].includes(typeof key);
}

/** An index may be an int or a whole double, since JSON has no ints. Anything else finds nothing. */
function indexOf(key: CelValue): number {
  const index = isCelUint(key) ? Number(key.value) : typeof key === 'bigint' ? Number(key) : key;
  return typeof index === 'number' && Number.isInteger(index) ? index : -1;
}

/** Names the whole path, and its first missing part. */
function missing(name: string, parts: CelList, depth: number): string {
  const keys = [...parts];
  const pathTo = (count: number) => keys.slice(0, count).reduce<string>((path, key) => path + partText(key), name);
  const whole = pathTo(keys.length);
  return depth === keys.length ? `${whole} is missing` : `${whole} is missing: there is no ${pathTo(depth)}`;
}

function partText(key: CelValue): string {
  if (typeof key !== 'string') return `[${isCelUint(key) ? key.value : String(key)}]`;
  return /^[A-Za-z_]\w*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}
