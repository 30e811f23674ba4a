export interface Segment {
  readonly kind: 'prose' | 'code' | 'comment';
  readonly start: number;
  readonly end: number;
}

/** Opens a fence, also inside quotes and list items. A backtick fence has no backtick in its info string. */
const FENCE = /^[ \t]*(?:(?:>|[-*+]|\d{1,9}[.)])[ \t]*)*(`{3,}(?=[^`\n]*$)|~{3,})/;

/**
 * Splits markdown into prose, code (fences and spans) and HTML comments, in order and without gaps. Follows CommonMark,
 * except that indented code counts as prose, since it looks like the text of a list.
 */
export function segments(source: string): readonly Segment[] {
  return new Scanner(source).scan();
}

class Scanner {
  readonly #out: Segment[] = [];
  /** The start of the prose that is not emitted yet. */
  #open = 0;
  #at = 0;
  /** For each run length, the offset before which no closing run of that length exists. */
  readonly #noCloser = new Map<number, number>();

  constructor(private readonly source: string) {}

  scan(): readonly Segment[] {
    const { source } = this;
    while (this.#at < source.length) {
      if (this.#atLineStart() && this.#fence()) continue;
      const char = source[this.#at];
      if (char === '\\') this.#at += 2;
      else if (char === '<' && source.startsWith('<!--', this.#at)) this.#comment();
      else if (char === '`') this.#span();
      else this.#at = this.#nextOf();
    }
    this.#cut('prose', source.length, source.length);
    return this.#out;
  }

  #atLineStart(): boolean {
    return this.#at === 0 || this.source[this.#at - 1] === '\n';
  }

  /** The next offset that may matter: a mark, or the start of a line. */
  #nextOf(): number {
    const next = /[\\<`\n]/g;
    next.lastIndex = this.#at;
    const match = next.exec(this.source);
    if (!match) return this.source.length;
    return match.index === this.#at || match[0] === '\n' ? match.index + 1 : match.index;
  }

  #fence(): boolean {
    const line = this.source.slice(this.#at, this.#lineEnd(this.#at)).replace(/\r$/, '');
    const mark = FENCE.exec(line)?.[1];
    if (!mark) return false;
    const close = new RegExp(`^[ \\t>]*${mark[0]}{${mark.length},}[ \\t\\r]*$`);
    let at = this.#lineEnd(this.#at) + 1;
    while (at <= this.source.length) {
      const end = this.#lineEnd(at);
      const closes = close.test(this.source.slice(at, end));
      at = end + 1;
      if (closes) break;
    }
    this.#cut('code', this.#at, Math.min(at, this.source.length));
    return true;
  }

  #lineEnd(from: number): number {
    const end = this.source.indexOf('\n', from);
    return end < 0 ? this.source.length : end;
  }

  #comment(): void {
    const end = this.source.indexOf('-->', this.#at + 2);
    this.#cut('comment', this.#at, end < 0 ? this.source.length : end + 3);
  }

  #span(): void {
    const length = /^`+/.exec(this.source.slice(this.#at, this.#at + 256))?.[0].length ?? 1;
    const end = this.#closer(this.#at + length, length);
    if (end === undefined) this.#at += length;
    else this.#cut('code', this.#at, end);
  }

  /** The end of the run of exactly `length` backticks that closes the span, within the paragraph. */
  #closer(from: number, length: number): number | undefined {
    if ((this.#noCloser.get(length) ?? -1) > from) return undefined;
    const runs = /`+|\n[ \t]*\r?\n/g;
    runs.lastIndex = from;
    for (let run = runs.exec(this.source); run; run = runs.exec(this.source)) {
      if (run[0][0] === '`' && run[0].length === length) return runs.lastIndex;
      if (run[0][0] !== '`') {
        this.#noCloser.set(length, run.index);
        return undefined;
      }
    }
    this.#noCloser.set(length, this.source.length);
    return undefined;
  }

  #cut(kind: Segment['kind'], start: number, end: number): void {
    if (start > this.#open) this.#out.push({ kind: 'prose', start: this.#open, end: start });
    if (end > start) this.#out.push({ kind, start, end });
    this.#open = end;
    this.#at = end;
  }
}
