import { isRecord } from '../../shared/json.js';

/** Names of fields are compared without case, `-`, `_` and spaces. */
export const foldKey = (name: string): string => name.toLowerCase().replace(/[-_ ]/g, '');

/** A text, an address (`{ address | email | value | raw, name }`, Graph's `{ emailAddress }`), or a list of either. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (Array.isArray(value))
    return value
      .map((one) => textOf(isPair(one) ? { email: one[0], name: one[1] } : one))
      .filter((one) => one !== '')
      .join(', ');
  if (!isRecord(value)) return '';
  const all = new Map(Object.entries(value).map(([key, one]) => [foldKey(key), one]));
  if (all.has('emailaddress')) return textOf(all.get('emailaddress'));
  const address = textOf(
    ['address', 'email', 'value', 'raw', 'data'].map((key) => all.get(key)).find((one) => one != null),
  );
  const given = all.get('name');
  const name = typeof given === 'string' ? given.replace(/["\\<>]/g, '') : '';
  return name === '' || address === '' || Array.isArray(all.get('value')) ? address : `"${name}" <${address}>`;
}

/** Mandrill's recipients: `[address, name or null]`. */
function isPair(value: unknown): value is readonly [string, string | null] {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [address, name] = value as readonly unknown[];
  return typeof address === 'string' && (name === null || (typeof name === 'string' && !name.includes('@')));
}
