import { joined, marked, type Needles, openEnd, openStart, type Span, spansOf } from './needles.js';
import { formsOf } from './secret-forms.js';

export interface Redactor {
  /** The text with every secret replaced by `[secret NAME]`. Overlapping secrets get the mark of the first only. */
  text(text: string): string;
  /**
   * For streamed text: all output together equals `text` of the whole input. A possible beginning of a secret is held
   * back until it is decided; `end` releases it.
   */
  stream(onText: (text: string) => void): { readonly write: (text: string) => void; readonly end: () => void };
  /** Like `text`, for any bytes. Bytes without a secret are returned unchanged. */
  bytes(content: Buffer): Buffer;
  /** Like `text`, for a text that was cut at `marks`: also removes possible parts of a secret beside them. */
  cut(text: string, marks: RegExp): string;
}

/**
 * Redacts secret values in program output: as they are, line by line, as JSON strings, in base64 (both alphabets, at
 * any offset within a longer text), hex, URL-encoded and as HTML. Values under 6 characters stay.
 */
export function redactor(secrets: Iterable<readonly [name: string, text: string]>): Redactor {
  const all = [...secrets];
  const needles = needlesOf(all, (text) => text);
  if (needles.whole.length === 0) return PLAIN;
  let ofBytes: Needles | undefined;
  return {
    text: (text) => hidden(text, needles),
    stream: (onText) => streamThrough(needles, onText),
    bytes: (content) => {
      ofBytes ??= needlesOf(all, asBytes);
      return Buffer.from(hidden(content.toString('latin1'), ofBytes), 'latin1');
    },
    cut: (text, marks) => hiddenBeside(text, marks, needles),
  };
}

const PLAIN: Redactor = {
  text: (text) => text,
  stream: (onText) => ({ write: onText, end: () => undefined }),
  bytes: (content) => content,
  cut: (text) => text,
};

/** Latin-1 maps every byte to one character, so that binary content stays unchanged. */
const asBytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

function needlesOf(
  secrets: readonly (readonly [name: string, text: string])[],
  written: (text: string) => string,
): Needles {
  // A form that two secrets share belongs to the first.
  const found = { whole: new Map<string, string>(), broken: new Map<string, string>() };
  for (const [name, value] of secrets) {
    for (const [form, isBroken] of formsOf(value)) {
      const forms = found[isBroken ? 'broken' : 'whole'];
      if (!forms.has(form)) forms.set(form, name);
    }
  }
  const listed = (forms: ReadonlyMap<string, string>) =>
    [...forms].map(([form, name]) => ({ text: written(form), mark: written(`[secret ${name}]`) }));
  return { whole: listed(found.whole), broken: listed(found.broken) };
}

function hidden(text: string, needles: Needles): string {
  return marked(text, joined(spansOf(text, needles)));
}

function hiddenBeside(text: string, marks: RegExp, needles: Needles): string {
  const parts = text.split(marks);
  const between = text.match(new RegExp(marks, 'g')) ?? [];
  return parts
    .map((part, index) => {
      const begin = index > 0 ? openStart(part, needles) : 0;
      const end = index < parts.length - 1 ? openEnd(part, needles) : part.length;
      const open = [...spansOf(part, needles), piece(0, begin), piece(end, part.length)];
      const spans = open.filter((span) => span.end > span.start).sort((a, b) => a.start - b.start);
      return marked(part, joined(spans)) + (between[index] ?? '');
    })
    .join('');
}

/** A part of a secret, which gets no mark. */
const piece = (start: number, end: number): Span => ({ start, end, mark: '' });

function streamThrough(needles: Needles, onText: (text: string) => void) {
  let held = '';
  /** How many characters of `held` belong to a secret whose mark was already written. */
  let masked = 0;
  const give = (out: string) => {
    if (out !== '') onText(out);
  };
  const spansNow = (text: string) => joined([...(masked > 0 ? [piece(0, masked)] : []), ...spansOf(text, needles)]);
  return {
    write: (input: string) => {
      const text = held + input;
      // A secret that begins before `open` is certain, as is one whose mark was written; only its end may be missing.
      const open = openEnd(text, needles);
      const spans = spansNow(text).filter(({ start }) => start < open || start < masked);
      give(marked(text.slice(0, open), spans));
      masked = Math.max(0, (spans.at(-1)?.end ?? 0) - open);
      held = text.slice(open);
    },
    end: () => {
      give(marked(held, spansNow(held)));
      held = '';
      masked = 0;
    },
  };
}
