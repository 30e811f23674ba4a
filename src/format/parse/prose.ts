import type { Piece, Text } from '../model.js';
import { type Mark, readText } from '../text/read-text.js';
import { type Source, unixLines } from './source.js';

/** Text for a model. The marks have offsets in the whole file. */
export interface Prose {
  readonly pieces: Text;
  readonly marks: readonly Mark[];
}

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Joins spans of a file into one text: trims blank lines around each and puts one blank line between them. */
export function readProse(source: Source, spans: readonly Span[]): Prose {
  const pieces: Piece[] = [];
  const marks: Mark[] = [];
  for (const { start, end } of spans) {
    const read = readText(source.text.slice(start, end));
    // One by one: a call with a hundred thousand arguments would exhaust the stack.
    for (const mark of read.marks) marks.push({ ...mark, offset: mark.offset + start });
    const trimmed = trimBlankLines(read.pieces.map(inUnixLines));
    if (trimmed.length > 0 && pieces.length > 0) pieces.push({ kind: 'text', text: '\n\n' });
    for (const piece of trimmed) pieces.push(piece);
  }
  return { pieces: joinTexts(pieces), marks };
}

/** The remaining spans after parts are removed. */
export function without(span: Span, parts: readonly Span[]): Span[] {
  const left: Span[] = [];
  let from = span.start;
  for (const part of [...parts].sort((a, b) => a.start - b.start)) {
    if (part.start > from) left.push({ start: from, end: part.start });
    from = Math.max(from, part.end);
  }
  return from < span.end ? [...left, { start: from, end: span.end }] : left;
}

function inUnixLines(piece: Piece): Piece {
  return piece.kind === 'text' ? { kind: 'text', text: unixLines(piece.text) } : piece;
}

function trimBlankLines(pieces: readonly Piece[]): Piece[] {
  const out = [...pieces];
  const first = out[0];
  if (first?.kind === 'text') out[0] = { kind: 'text', text: first.text.replace(/^(?:[ \t]*\n)+/, '') };
  const last = out.at(-1);
  if (last?.kind === 'text') out[out.length - 1] = { kind: 'text', text: last.text.trimEnd() };
  return out.filter((piece) => piece.kind !== 'text' || piece.text !== '');
}

function joinTexts(pieces: readonly Piece[]): Piece[] {
  const out: Piece[] = [];
  for (const piece of pieces) {
    const last = out.at(-1);
    if (piece.kind === 'text' && last?.kind === 'text')
      out[out.length - 1] = { kind: 'text', text: last.text + piece.text };
    else out.push(piece);
  }
  return out;
}
