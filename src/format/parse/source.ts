import { decodeUtf8 } from '../../shared/utf8.js';
import type { Issue } from '../model.js';

/** One text file: its text without a BOM, and the offsets of its lines. All offsets refer to `text`. */
export interface Source {
  readonly path: string;
  readonly text: string;
  readonly lineStarts: readonly number[];
}

export interface Fault {
  readonly code: string;
  readonly message: string;
  /** A function if the hint is slow to find. It is called only when the fault is reported. */
  readonly hint?: string | (() => string | undefined) | undefined;
  readonly severity?: 'warning';
}

/** A file whose faults are being collected. */
export interface Findings {
  readonly source: Source;
  readonly issues: Issue[];
}

export function openSource(path: string, text: string): Source {
  const plain = text.startsWith('\uFEFF') ? text.slice(1) : text;
  const lineStarts = [0];
  for (const end of plain.matchAll(/\r\n|\n|\r/g)) lineStarts.push(end.index + end[0].length);
  return { path, text: plain, lineStarts };
}

/** Null when the bytes are not UTF-8. */
export function decodeSource(path: string, content: Uint8Array): Source | null {
  const text = decodeUtf8(content);
  return text === null ? null : openSource(path, text);
}

/** Line and column of an offset, both 1-based. */
export function positionAt(source: Source, offset: number): { line: number; column: number } {
  let low = 0;
  let high = source.lineStarts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((source.lineStarts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return { line: low + 1, column: offset - (source.lineStarts[low] ?? 0) + 1 };
}

/** Maximum number of issues per severity in one list: a hostile file could have a fault in every byte. */
const MAX_ISSUES = 500;

/** The number of issues per severity in each list. Counting them at every fault would take time by the square. */
const given = new WeakMap<readonly Issue[], Record<Issue['severity'], number>>();

export function report({ source, issues }: Findings, offset: number, fault: Fault): void {
  const { code, message, hint, severity = 'error' } = fault;
  const counts = given.get(issues) ?? { error: 0, warning: 0 };
  if (counts[severity] >= MAX_ISSUES) return;
  given.set(issues, counts);
  counts[severity] += 1;
  const issue: Issue = { path: source.path, ...positionAt(source, offset), code, severity, message };
  const sentence = typeof hint === 'function' ? hint() : hint;
  issues.push(sentence === undefined ? issue : { ...issue, hint: sentence });
}

/** The text with unix line ends: what a model reads must not depend on an editor. */
export function unixLines(text: string): string {
  return text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
}
