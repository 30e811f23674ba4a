import type { ApiParameter, Style } from '../../../format/openapi/api-operation.js';
import { toJson } from '../../../shared/exact-json.js';
import { isRecord, type Json } from '../../../shared/json.js';

type Form = Pick<ApiParameter, 'name' | 'style' | 'explode' | 'allowReserved'>;
type Encode = (text: string) => string;

/** Encodes all but the unreserved characters of RFC 3986. */
export const strict: Encode = (text) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);

/** What `allowReserved` leaves unencoded, except characters that would begin another part of the URL. */
const reserved: Encode = (text) => encodeURI(text).replace(/[#&+]/g, strict);

export function plain(value: Json): string {
  return typeof value === 'string' ? value : toJson(value);
}

/** Query pairs, encoded: `form`, `spaceDelimited`, `pipeDelimited` and `deepObject` (OpenAPI 3.1, Style Values). */
export function queryPairs({ name, style, explode, allowReserved }: Form, value: Json): string[] {
  const encode = allowReserved ? reserved : strict;
  const key = strict(name);
  const written = (one: Json) => encode(plain(one));
  if (isRecord(value)) {
    const entries = Object.entries(value as { readonly [key: string]: Json });
    if (style === 'deepObject') return deepPairs(key, value, encode);
    if (explode) return entries.map(([inner, one]) => `${strict(inner)}=${written(one)}`);
    return [
      `${key}=${entries.flatMap(([inner, one]) => [strict(inner), written(one)]).join(SEPARATORS[style] ?? ',')}`,
    ];
  }
  if (Array.isArray(value)) {
    if (explode && style !== 'deepObject') return value.map((one: Json) => `${key}=${written(one)}`);
    if (style === 'deepObject') return deepPairs(key, value, encode);
    return value.length === 0 ? [] : [`${key}=${value.map(written).join(SEPARATORS[style] ?? ',')}`];
  }
  return [`${key}=${written(value)}`];
}

const SEPARATORS: Readonly<Partial<Record<Style, string>>> = { spaceDelimited: '%20', pipeDelimited: '%7C' };

/** `a[b][c]=…`. Values deeper than the style defines are written as most servers read them. */
function deepPairs(key: string, value: Json, encode: Encode): string[] {
  if (Array.isArray(value))
    return value.flatMap((one: Json, index) => deepPairs(`${key}[${isRecord(one) ? index : ''}]`, one, encode));
  if (!isRecord(value)) return [`${key}=${encode(plain(value))}`];
  return Object.entries(value).flatMap(([inner, one]) => deepPairs(`${key}[${strict(inner)}]`, one as Json, encode));
}

/** One value of a path: `simple`, `label` or `matrix`. */
export function pathValue({ name, style, explode }: Form, value: Json): string {
  const parts = partsOf(value, explode, strict);
  if (style === 'label') return `.${parts.join(explode ? '.' : ',')}`;
  if (style !== 'matrix') return parts.join(',');
  if (!explode) return `;${strict(name)}=${parts.join(',')}`;
  return isRecord(value) ? `;${parts.join(';')}` : parts.map((part) => `;${strict(name)}=${part}`).join('');
}

export function headerValue({ explode }: Form, value: Json): string {
  return partsOf(value, explode, (text) => text).join(',');
}

function partsOf(value: Json, explode: boolean, encode: Encode): string[] {
  const written = (one: Json) => encode(plain(one));
  if (Array.isArray(value)) return value.map(written);
  if (!isRecord(value)) return [written(value)];
  return Object.entries(value).flatMap(([inner, one]) =>
    explode ? [`${encode(inner)}=${written(one as Json)}`] : [encode(inner), written(one as Json)],
  );
}
