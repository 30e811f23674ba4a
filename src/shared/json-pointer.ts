import { isRecord } from './json.js';

/**
 * The value at a JSON pointer (RFC 6901) in the fragment of a URL, such as `/$defs/a~1b`; undefined if there is none.
 */
export function atPointer(root: unknown, fragment: string): unknown {
  return fragment
    .split('/')
    .slice(1)
    .reduce<unknown>((value, token) => {
      const name = pointerName(decodeFragment(token));
      if (Array.isArray(value)) return /^\d+$/.test(name) ? value[Number(name)] : undefined;
      return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
    }, root);
}

/** Unescapes a token of a JSON pointer. */
export function pointerName(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** Percent-decodes a text. Returns it unchanged if its encoding is invalid. */
export function decodeFragment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
