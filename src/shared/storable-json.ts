import { toJson } from './exact-json.js';

/**
 * JSON that Postgres can store: jsonb refuses NUL and lone surrogates, which a user's YAML may well hold. Each becomes
 * U+FFFD. Works on the text, where JSON.stringify has escaped both; an escaped backslash before them is passed over.
 */
export function storableJson(value: unknown): string {
  return storableJsonText(toJson(value));
}

export function storableJsonText(json: string): string {
  return json.replace(/\\\\|\\u(?:0000|d[89a-f][0-9a-f]{2})/gi, (found) => (found === '\\\\' ? found : '\uFFFD'));
}

/** Text that Postgres can store in a column of its own: NUL becomes U+FFFD (a lone surrogate does so by itself). */
export function storableText(text: string): string {
  return text.replaceAll('\0', '\uFFFD');
}
