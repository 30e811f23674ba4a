import { isPlainPath } from '../../shared/path-fault.js';

const MAX_PATH_BYTES = 1_024;
const MAX_PART_BYTES = 255;

/** What a path must not contain, with the sentence for it. */
const REFUSED: readonly (readonly [RegExp, string])[] = [
  [/^$/, 'A path cannot be empty.'],
  [/\\/, 'A path has `/` between its parts, no backslash.'],
  [/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/u, 'A path cannot hold control characters.'],
  [/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/, 'A path must be whole Unicode text.'],
  [/^\//, 'A path cannot begin with `/`.'],
  [/%(?:2e|2f|5c|00)/i, 'A path cannot hold an escaped dot, slash, backslash or NUL.'],
  [/(?:^|\/)\.{1,2}(?:\/|$)/, 'A path cannot have a part `.` or `..`.'],
  [/\/\/|\/$/, 'A path cannot have an empty part.'],
  // On some file systems, other case and the short name mean the same folder.
  [/(?:^|\/)(?:\.git[ .]*|git~\d+)(?:\/|$|:)/i, 'A path cannot have a part `.git`.'],
];

/**
 * The canonical spelling of a file's path: NFC. All entry points refuse what is refused here: `..`, a leading `/`, a
 * `.git` part, backslashes, control characters, and escapes of these.
 */
export function checkPath(path: string): { ok: true; path: string } | { ok: false; message: string } {
  if (isPlainPath(path)) return { ok: true, path };
  for (const [pattern, message] of REFUSED) if (pattern.test(path)) return { ok: false, message };
  const canonical = path.normalize('NFC');
  const bytes = (text: string) => new TextEncoder().encode(text).length;
  if (bytes(canonical) > MAX_PATH_BYTES || canonical.split('/').some((part) => bytes(part) > MAX_PART_BYTES)) {
    return { ok: false, message: `A path has at most ${MAX_PATH_BYTES} bytes, a part at most ${MAX_PART_BYTES}.` };
  }
  return { ok: true, path: canonical };
}

/** Paths with the same fold are one file on a case-insensitive file system. */
export function foldPath(path: string): string {
  return path.normalize('NFC').toLowerCase().normalize('NFC');
}
