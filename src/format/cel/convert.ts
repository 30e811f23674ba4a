import { type CelInput, type CelValue, celMap, isCelList, isCelMap, isCelType, isCelUint } from '@bufbuild/cel';
import { toJson } from '@bufbuild/protobuf';
import { isReflectMessage } from '@bufbuild/protobuf/reflect';
import { exactInteger } from '../../shared/exact-json.js';
import type { Json } from '../../shared/json.js';
import { charge } from './meter.js';

/**
 * Converts JSON to CEL maps, so that an object's own key `constructor` is not mistaken for its class. Numbers are
 * doubles. Integers beyond 2^53 are ints, so that comparisons use all their digits.
 */
export function fromJson(value: Json): CelInput {
  charge(1);
  if (typeof value === 'number') return fromNumber(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(fromJson);
  return celMap(new Map(Object.entries(value).map(([key, entry]) => [key, fromJson(entry)])));
}

function fromNumber(value: number): number | bigint {
  const isLarge = Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < 1e21;
  return isLarge ? BigInt(String(value)) : value;
}

/**
 * Converts CEL to plain JSON. Ints become numbers, unless a number cannot hold them; timestamps become RFC 3339 texts,
 * durations seconds like `90s`, bytes base64.
 */
export function toPlain(value: CelValue): Json {
  charge(1);
  if (typeof value === 'bigint') return exactInteger(value);
  if (typeof value === 'number') return finite(value);
  if (typeof value === 'string') charge(value.length / 64);
  if (typeof value !== 'object' || value === null) return value;
  if (isCelUint(value)) return exactInteger(value.value);
  if (isCelList(value)) return Array.from(value, toPlain);
  if (isCelMap(value)) return Object.fromEntries(Array.from(value, ([key, entry]) => [keyText(key), toPlain(entry)]));
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (isReflectMessage(value)) return toJson(value.desc, value.message) as Json;
  if (isCelType(value)) return value.name;
  throw new Error('the result has no JSON form');
}

/** Charges for a deep comparison of a value, by its size. */
export function chargeDeep(value: CelValue): void {
  charge(1);
  if (typeof value === 'string') charge(value.length / 64);
  else if (isCelList(value)) for (const entry of value) chargeDeep(entry);
  else if (isCelMap(value)) for (const [, entry] of value) chargeDeep(entry);
}

function keyText(key: unknown): string {
  return isCelUint(key) ? String(key.value) : String(key);
}

function finite(value: number): number {
  if (!Number.isFinite(value)) throw new Error(`the result is ${value}, which is not a JSON number`);
  return value;
}
