import type { Piece, Text } from '../model.js';
import { type Segment, segments } from './segments.js';

export interface Mark {
  readonly kind: 'value' | 'link' | 'secret' | 'bad-value';
  /** The path, the link's inner text, the secret's name, or what is malformed. */
  readonly text: string;
  /** Into the source, in UTF-16 code units. */
  readonly offset: number;
}

/** A data path: names, or indexes into lists, separated by dots. */
export const PATH = /^[A-Za-z_][\w-]*(?:\.(?:[A-Za-z_][\w-]*|\d+))*$/;

const MARKS = /\\(?=\{\{|\$\{|\[\[)(?:..)|\{\{|\[\[|\$\{([A-Z][A-Z0-9_]*)\}/g;
const MAX_MARK = 400;

/**
 * Reads instruction text: `{{path}}` anywhere, `[[path#heading|label]]` outside code, `${NAME}` reported, HTML comments
 * left out, `\{{` literal. With `links: false`, a `[[…]]` is text. Never throws.
 */
export function readText(
  source: string,
  options: { readonly links?: boolean } = {},
): { pieces: Text; marks: readonly Mark[] } {
  const reader = new Reader(source);
  for (const segment of segments(source)) {
    if (segment.kind !== 'comment') reader.read(segment, segment.kind === 'prose' && options.links !== false);
  }
  return { pieces: reader.pieces, marks: reader.marks };
}

class Reader {
  readonly pieces: Piece[] = [];
  readonly marks: Mark[] = [];

  constructor(private readonly source: string) {}

  read({ start, end }: Segment, links: boolean): void {
    const marks = new RegExp(MARKS);
    // Search only up to the segment's end: searching beyond it for each segment would be quadratic.
    const upToEnd = this.source.slice(0, end);
    marks.lastIndex = start;
    let open = start;
    for (let match = marks.exec(upToEnd); match; match = marks.exec(upToEnd)) {
      const at = match.index;
      if (match[0].startsWith('\\')) {
        this.#text(this.source.slice(open, at));
        open = at + 1;
        continue;
      }
      const piece = this.#mark(match[0], at, links ? end : -1);
      if (!piece) continue;
      this.#text(this.source.slice(open, at));
      this.pieces.push(piece.piece);
      open = marks.lastIndex = piece.end;
    }
    this.#text(this.source.slice(open, end));
  }

  #mark(mark: string, at: number, linksEnd: number): { piece: Piece; end: number } | undefined {
    if (mark === '{{') return this.#value(at);
    if (mark === '[[') return this.#link(at, linksEnd);
    this.marks.push({ kind: 'secret', text: mark.slice(2, -1), offset: at });
    return undefined;
  }

  #value(at: number): { piece: Piece; end: number } | undefined {
    const inner = /^\{\{([^{}]*)\}\}/.exec(this.source.slice(at, at + MAX_MARK));
    const path = inner?.[1]?.trim() ?? '';
    if (!inner || !PATH.test(path)) {
      const text = inner?.[0] ?? /^.{2,60}/.exec(this.source.slice(at))?.[0] ?? '{{';
      this.marks.push({ kind: 'bad-value', text, offset: at });
      return undefined;
    }
    this.marks.push({ kind: 'value', text: path, offset: at });
    return { piece: { kind: 'value', path }, end: at + inner[0].length };
  }

  /** A line break in a link counts as a blank, since text may be wrapped there. */
  #link(at: number, end: number): { piece: Piece; end: number } | undefined {
    if (end < 0) return undefined;
    const match = /^\[\[([^[\]|#]+)(?:#([^[\]|]*))?(?:\|([^[\]]*))?\]\]/.exec(
      this.source.slice(at, Math.min(at + MAX_MARK, end)),
    );
    const [target, heading, label] = (match?.slice(1) ?? []).map((part) => part?.trim().replace(/\s+/g, ' '));
    if (!match || !target) return undefined;
    this.marks.push({ kind: 'link', text: match[0].slice(2, -2), offset: at });
    const piece: Piece = { kind: 'link', target, ...(heading ? { heading } : {}), ...(label ? { label } : {}) };
    return { piece, end: at + match[0].length };
  }

  #text(text: string): void {
    if (text === '') return;
    const last = this.pieces.at(-1);
    if (last?.kind === 'text') this.pieces[this.pieces.length - 1] = { kind: 'text', text: last.text + text };
    else this.pieces.push({ kind: 'text', text });
  }
}
