import type { OpenFile } from '../open-file.js';
import type { KeyTable } from '../read-keys.js';
import { report } from '../source.js';
import { type KnownKeys, knownKeys, lettersOf } from './known-keys.js';
import { readOptionLike } from './option-like.js';

type Kind = 'workspace' | 'agent' | 'flow' | 'eval' | 'tool' | 'document';

const FENCED = /^(?:`{3,}|~{3,})[ \t]*(?:ya?ml|toml|frontmatter|markdown|md)?[ \t]*$/i;
const DELIMITER = /^(?:-{2,}|[–—]{1,3}|\+{3,}|\*{3,}|={3,}|;{3,})$/;
/** Frontmatter is shorter, and hostile text may have no blank line. */
const MAX_LINES = 200;

const tables = new WeakMap<KeyTable, KnownKeys>();

/**
 * Keys where frontmatter is not read: after an empty line, in a code block, without `---`, or after the
 * frontmatter. True when there are such keys.
 */
export function checkIgnoredKeys(file: OpenFile, table: KeyTable, kind: Kind): boolean {
  const block = firstBlock(file);
  if (block === null) return false;
  const keys = tables.get(table) ?? knownKeys(table);
  tables.set(table, keys);
  const found = block.isMarked ? namedIn(block.lines, table) : readIn(block.lines, keys);
  if (found.length === 0) return false;
  const isRisky = kind !== 'document' && found.some((key) => keys.get(lettersOf(key))?.isRisky);
  const names = found.slice(0, 5).map((key) => `\`${key}\``);
  const message = `${names.join(', ')}: the text has keys that are not read.`;
  const hint = 'Frontmatter begins on the first line with `---`, has one `key: value` a line, and ends with `---`.';
  const fault = { code: `${kind}/key-ignored`, message, hint };
  report(file, block.offset, isRisky ? fault : { ...fault, severity: 'warning' });
  return true;
}

interface FirstBlock {
  readonly lines: readonly string[];
  readonly offset: number;
  /** True if a line such as `---` or a code fence precedes it. */
  readonly isMarked: boolean;
}

/** The text before the first blank line, without comments and a title before it. */
function firstBlock({ source, bodyStart }: OpenFile): FirstBlock | null {
  const skipped = /^(?:[\s\u200B\uFEFF]|<!--[\s\S]*?-->|#[ \t][^\r\n]*(?=[\r\n]))*/.exec(
    source.text.slice(bodyStart, bodyStart + 10_000),
  );
  const offset = bodyStart + (skipped?.[0].length ?? 0);
  const [first = '', ...rest] = source.text.slice(offset, offset + 20_000).split(/\r\n|\n|\r/, MAX_LINES);
  const opening = first.trim();
  if (!FENCED.test(opening) && !DELIMITER.test(opening)) {
    const end = rest.findIndex((line) => line.trim() === '' || DELIMITER.test(line.trim()));
    return { lines: [first, ...rest.slice(0, end < 0 ? undefined : end)], offset, isMarked: false };
  }
  const isEnd = (line: string) => (FENCED.test(opening) ? /^(?:`{3,}|~{3,})$/ : DELIMITER).test(line);
  const end = rest.findIndex((line) => isEnd(line.trim()));
  return end < 0 ? null : { lines: rest.slice(0, end), offset, isMarked: true };
}

/** The keys of the table in `key: value` lines; none if any line is something else. */
function namedIn(lines: readonly string[], table: KeyTable): string[] {
  const own = lines.filter((line) => line.trim() !== '' && !/^(?:\s|#)/.test(line));
  const keys = own.map((line) => /^["']?([A-Za-z][\w-]*)["']?\s*[:=](?:\s|$)/.exec(line)?.[1]);
  if (keys.includes(undefined)) return [];
  const known = new Map(Object.keys(table).map((key) => [lettersOf(key), key]));
  return keys.flatMap((key) => known.get(lettersOf(key ?? '')) ?? []);
}

/** The keys that all lines seem to have, with valid values. */
function readIn(lines: readonly string[], keys: KnownKeys): string[] {
  const own = lines.filter((line) => !/^(?:\s|#)/.test(line));
  const scan = { keys, left: MAX_LINES };
  const found = own.map((line) => readOptionLike(line, scan));
  return found
    .flatMap((option) => (option === null ? [] : [option.known.key]))
    .slice(0, found.some((option) => option === null || option.isPart) ? 0 : undefined);
}
