import { joined, marked, type Needles, openEnd, openStart, type Span, spansOf } from './needles.js';
import { formsOf } from './secret-forms.js';

export interface Redactor {
  /** The text with every secret replaced by `[secret NAME]`; secrets that overlap by the mark of the first alone. */
  text(text: string): string;
  /**
   * For text that comes in pieces: what is given out is, in all, what `text` makes of the whole. What may be the
   * beginning of a secret is held back until it shows; `end` gives it out.
   */
  stream(onText: (text: string) => void): { readonly write: (text: string) => void; readonly end: () => void };
  /** As `text`, over bytes of any kind: those that hold no secret come back as they are. */
  bytes(content: Buffer): Buffer;
  /** As `text`, for one whose middle was left out at `marks`: what may be a piece of a secret beside them goes as well. */
  cut(text: string, marks: RegExp): string;
}

/**
 * Takes secret values out of what programs say: as they are, line by line, as JSON strings, in base64 (both
 * alphabets, at any offset within a longer text), hex, url-encoded and as HTML. Values under 6 characters are left.
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

/** Latin-1 gives every byte a character of its own, so that what is not text is not changed. */
const asBytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

function needlesOf(
  secrets: readonly (readonly [name: string, text: string])[],
  written: (text: string) => string,
): Needles {
  // A form that two secrets have is the first one's.
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

/** Of a secret, without a mark of its own. */
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
