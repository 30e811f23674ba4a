import { RE2JS } from '@bufbuild/re2';
import { Lru } from '../../shared/lru.js';

/** A larger pattern's automaton is slow even without backtracking. */
const MAX_PATTERN = 1_000;
const MAX_PROGRAM = 5_000;

export interface Pattern {
  /** Instructions of the automaton. Matching costs at most this times the subject's length. */
  readonly size: number;
  /** True if the pattern matches anywhere in the subject. */
  test(subject: string): boolean;
  /** The source, by which ajv identifies patterns. */
  toString(): string;
}

const patterns = new Lru<string, Pattern>(200);

/** Compiles an RE2 pattern, which cannot backtrack. Throws a sentence for an invalid or too large one. */
export function compilePattern(source: string): Pattern {
  return patterns.get(source) ?? patterns.set(source, compileFresh(source));
}

/** True if RE2 supports the pattern: it has no look-around and no back references. */
export function isPattern(source: string): boolean {
  try {
    compilePattern(source);
    return true;
  } catch {
    return false;
  }
}

function compileFresh(source: string): Pattern {
  if (source.length > MAX_PATTERN) throw new Error(`the pattern is longer than ${MAX_PATTERN} characters`);
  const re = RE2JS.compile(source);
  const size = re.re2().prog.inst.length;
  if (size > MAX_PROGRAM) throw new Error('the pattern is too big: use smaller repeat counts');
  return { size, test: (subject) => re.test(subject), toString: () => source };
}
