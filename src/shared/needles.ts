/** Strings to search for in a text, each with its replacement. */
export interface Needle {
  readonly text: string;
  readonly mark: string;
}

/** Needles in `broken` contain no line breaks, but the text may wrap them into lines at any place. */
export interface Needles {
  readonly whole: readonly Needle[];
  readonly broken: readonly Needle[];
}

/** A piece of a text, in UTF-16 units, with its mark. */
export interface Span {
  readonly start: number;
  readonly end: number;
  readonly mark: string;
}

/**
 * A line break and a few blank lines. More than that ends a match, since a text could continue with blank lines
 * forever.
 */
const BREAKS = /(?<![\r\n])[\r\n]{1,4}(?![\r\n])/g;

/**
 * Every occurrence of every needle, overlapping ones included, in order. Needles are searched one by one: one pattern for
 * all takes ten seconds for a megabyte and a private key.
 */
export function spansOf(text: string, { whole, broken }: Needles): Span[] {
  const lines = unbroken(text);
  const found = hitsOf(lines, broken);
  const place = placesIn(
    text,
    lines,
    found.flatMap(({ start, end }) => [start, end - 1]),
  );
  const placed = found.map(({ start, end, mark }) => ({ start: place(start), end: place(end - 1) + 1, mark }));
  return [...hitsOf(text, whole), ...placed].sort((a, b) => a.start - b.start || b.end - a.end);
}

/** Merges overlapping spans, with the mark of the first. Input and output are in order. */
export function joined(spans: readonly Span[]): Span[] {
  const out: Span[] = [];
  for (const span of spans) {
    const last = out.at(-1);
    if (!last || span.start >= last.end) out.push(span);
    else if (span.end > last.end) out[out.length - 1] = { ...last, end: span.end };
  }
  return out;
}

/** Replaces each span of the text by its mark. The spans are in order and do not overlap. */
export function marked(text: string, spans: readonly Span[]): string {
  let out = '';
  let at = 0;
  for (const { start, end, mark } of spans) {
    out += text.slice(at, start) + mark;
    at = end;
  }
  return out + text.slice(at);
}

/** Where the longest suffix of the text begins that is a proper prefix of a needle; the text's length when none is. */
export function openEnd(text: string, { whole, broken }: Needles): number {
  const lines = unbroken(text);
  const end = endIn(lines, broken);
  return Math.min(endIn(text, whole), end === lines.length ? text.length : placesIn(text, lines, [end])(end));
}

/** The length of the longest prefix of the text that is a proper suffix of a needle; 0 when none is. */
export function openStart(text: string, { whole, broken }: Needles): number {
  const lines = unbroken(text);
  const last = startIn(lines, broken) - 1;
  return Math.max(startIn(text, whole), last < 0 ? 0 : placesIn(text, lines, [last])(last) + 1);
}

function endIn(text: string, needles: readonly Needle[]): number {
  let best = text.length;
  for (const { text: needle } of needles) {
    const first = needle.charAt(0);
    let at = text.indexOf(first, Math.max(0, text.length - needle.length + 1));
    while (at >= 0 && at < best && !needle.startsWith(text.slice(at))) at = text.indexOf(first, at + 1);
    if (at >= 0 && at < best) best = at;
  }
  return best;
}

function startIn(text: string, needles: readonly Needle[]): number {
  let best = -1;
  for (const { text: needle } of needles) {
    const last = needle.charAt(needle.length - 1);
    let at = text.lastIndexOf(last, needle.length - 2);
    while (at > best && !needle.endsWith(text.slice(0, at + 1))) at = at === 0 ? -1 : text.lastIndexOf(last, at - 1);
    if (at > best) best = at;
  }
  return best + 1;
}

function hitsOf(text: string, needles: readonly Needle[]): Span[] {
  const hits: Span[] = [];
  for (const { text: needle, mark } of needles) {
    // Long keys have many forms that are longer than most texts.
    if (needle.length > text.length) continue;
    let start = text.indexOf(needle);
    if (start < 0) continue;
    const period = periodOf(needle);
    const more = needle.slice(needle.length - period);
    while (start >= 0) {
      let end = start + needle.length;
      // Merges occurrences of a needle that overlaps itself, since there may be very many.
      if (period < needle.length) while (text.startsWith(more, end)) end += period;
      hits.push({ start, end, mark });
      start = text.indexOf(needle, end - needle.length + period);
    }
  }
  return hits;
}

/**
 * The least distance between two occurrences of a text: its length when they cannot overlap. One pass, by the prefix
 * function of Knuth, Morris and Pratt.
 */
function periodOf(text: string): number {
  // For each prefix of the text, the length of the longest proper prefix that is also its suffix.
  const borders = new Uint32Array(text.length);
  let border = 0;
  for (let at = 1; at < text.length; at += 1) {
    while (border > 0 && text[at] !== text[border]) border = borders[border - 1] ?? 0;
    if (text[at] === text[border]) border += 1;
    borders[at] = border;
  }
  return text.length - border;
}

function unbroken(text: string): string {
  return /[\r\n]/.test(text) ? text.replace(BREAKS, '') : text;
}

/** Maps the given offsets of the text without line breaks to offsets of the original text. */
function placesIn(text: string, lines: string, given: readonly number[]): (index: number) => number {
  if (lines.length === text.length) return (index) => index;
  const places = new Map<number, number>();
  const breaks = text.matchAll(BREAKS);
  let removed = 0;
  let next = breaks.next();
  for (const index of given.toSorted((a, b) => a - b)) {
    while (!next.done && next.value.index - removed <= index) {
      removed += next.value[0].length;
      next = breaks.next();
    }
    places.set(index, index + removed);
  }
  return (index) => places.get(index) ?? index;
}
