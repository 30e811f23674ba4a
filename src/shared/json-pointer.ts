import { isRecord } from './json.js';

/**
 * What a JSON pointer (RFC 6901) in the fragment of a URL, such as `/$defs/a~1b`, leads to in a JSON value; undefined
 * where it leads nowhere.
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

/** The name that a token of a pointer stands for. */
export function pointerName(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** Text with its percent signs decoded; as it is where they encode no text. */
export function decodeFragment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
