/** The new text of the file, or why the edit cannot be made. */
export type Edited = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly reason: string };

export interface Change {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export function refuse(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}

/** Replaces ranges that do not overlap; all other bytes stay. */
export function splice(text: string, changes: readonly Change[]): string {
  const sorted = [...changes].sort((a, b) => a.start - b.start);
  let out = '';
  let at = 0;
  for (const change of sorted) {
    out += text.slice(at, change.start) + change.text;
    at = change.end;
  }
  return out + text.slice(at);
}

/** The line end that a file uses. */
export function lineEndOf(text: string): string {
  return /\r\n|\n|\r/.exec(text)?.[0] ?? '\n';
}

const LINE_END = '(?:\\r\\n|\\n|\\r(?!\\n))';
const BLANK_AT_END = new RegExp(`${LINE_END}[ \\t]*${LINE_END}$`);
const BLANK_BEHIND = new RegExp(`^[ \\t]*${LINE_END}[ \\t]*${LINE_END}`);

/** True if a text ends with a blank line. */
export function endsInBlankLine(text: string): boolean {
  return BLANK_AT_END.test(text);
}

/** The line breaks missing between a text and a block that needs a blank line before it. */
export function gapBehind(text: string, lineEnd: string): string {
  if (text === '' || endsInBlankLine(text)) return '';
  return /[\r\n]$/.test(text) ? lineEnd : lineEnd + lineEnd;
}

/** The line break missing between an inserted block and the text after it. */
export function gapBefore(rest: string, lineEnd: string): string {
  return rest.trim() === '' || BLANK_BEHIND.test(rest) ? '' : lineEnd;
}

/** A text without blank lines at its end and without the last line end. Blanks of the last line stay. */
export function withoutBlankEnd(text: string): string {
  return text.slice(0, lineStop(text, text.trimEnd().length));
}

/** The start of the run of these characters that ends at `at`. */
export function runStart(text: string, at: number, signs: string): number {
  let from = at;
  while (from > 0 && signs.includes(text.charAt(from - 1))) from -= 1;
  return from;
}

/** Inserted text with the file's line ends. */
export function withLineEnds(text: string, lineEnd: string): string {
  return text.replace(/\r\n|\n|\r/g, lineEnd);
}

/** Runs an edit on the text after a byte order mark, and restores the mark. */
export function behindMark(text: string, edit: (plain: string) => Edited): Edited {
  if (!text.startsWith('\uFEFF')) return edit(text);
  const edited = edit(text.slice(1));
  return edited.ok ? { ok: true, text: `\uFEFF${edited.text}` } : edited;
}

export function lineStart(text: string, offset: number): number {
  return Math.max(text.lastIndexOf('\n', offset - 1), text.lastIndexOf('\r', offset - 1)) + 1;
}

/** The end of the line that contains `offset`, before its line end. */
export function lineStop(text: string, offset: number): number {
  const stop = /[\r\n]/g;
  stop.lastIndex = offset;
  return stop.exec(text)?.index ?? text.length;
}

/** The start of the line after the one that contains `offset`. */
export function nextLine(text: string, offset: number): number {
  const stop = lineStop(text, offset);
  return stop + (text.startsWith('\r\n', stop) ? 2 : stop < text.length ? 1 : 0);
}
