const MAX_PATH_BYTES = 1_024;
const MAX_PART_BYTES = 255;

/** Unicode's control characters, and line and paragraph separators, marks for the direction of writing, the BOM. */
const CONTROL = /[\p{Cc}\p{Surrogate}\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/u;

const FAULTS: readonly (readonly [fault: string, found: (path: string) => boolean])[] = [
  ['is empty', (path) => path === ''],
  [`is over ${MAX_PATH_BYTES} bytes`, (path) => byteLength(path) > MAX_PATH_BYTES],
  ['holds a control character', (path) => CONTROL.test(path)],
  ['holds a backslash', (path) => path.includes('\\')],
  ['holds percent-encoded characters', (path) => /%(2e|2f|5c|00)/i.test(path)],
  ['is not in Unicode form NFC', (path) => path !== path.normalize('NFC')],
  [
    'has an empty, "." or ".." part',
    (path) => path.split('/').some((part) => part === '' || part === '.' || part === '..'),
  ],
  ['has a part that git keeps for itself', (path) => path.split('/').some(isGitName)],
  [
    `has a part over ${MAX_PART_BYTES} bytes`,
    (path) => path.split('/').some((part) => byteLength(part) > MAX_PART_BYTES),
  ],
];

const PLAIN = /^(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*\/)*[A-Za-z0-9_-][A-Za-z0-9_.-]*$/;

/**
 * A fast check that accepts nearly every path: short paths of this pattern have no fault. Trees have thousands of
 * paths, checked often.
 */
export function isPlainPath(path: string): boolean {
  return path.length <= MAX_PART_BYTES && PLAIN.test(path);
}

/**
 * What is wrong with a workspace path, as the predicate of a sentence: `holds a backslash`; null for a canonical path.
 * Paths are never repaired: a file has one spelling in every route, tree and store.
 */
export function pathFault(path: string): string | null {
  if (isPlainPath(path)) return null;
  return FAULTS.find(([, found]) => found(path))?.[0] ?? null;
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).byteLength;
}

const INVISIBLE = /[\u200C-\u200F\u202A-\u202E\u206A-\u206F\uFEFF]/g;

/** Like git's `is_ntfs_dotgit` and `is_hfs_dotgit`: names that some file system treats as `.git`, `.` or `..`. */
function isGitName(part: string): boolean {
  const stem = (part.replace(INVISIBLE, '').split(':')[0] ?? '').toLowerCase();
  const bare = stem.replace(/[. ]+$/, '');
  return (bare === '' && stem !== '') || /^(\.git|\.?git~\d+)$/.test(bare);
}
