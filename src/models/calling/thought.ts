/** The tags that begin an answer of models that put reasoning into their text. */
const OPEN = /^\s*<(think|thinking|thought|reasoning)>/i;
/** A text that more input may complete to an open tag. */
const MAYBE_OPEN = /^\s*(<[a-z]{0,9})?$/i;
/** White space at the start of an answer is held back up to this length; a model may stream nothing else. */
const MOST_BEFORE_OPEN = 1_024;
const LONGEST_CLOSE = '</reasoning>'.length;
/** A close tag alone on its line: some servers leave out the open tag, which is part of their prompt. */
const LONE_CLOSE = /(?:^|\n)[ \t]*<\/think>[ \t]*(?:\n\s*|$)/i;

export interface Sorted {
  readonly thought: string;
  readonly text: string;
}

/** Separates reasoning in tags at the beginning of an answer from the answer, while its text streams. */
export function createThoughtFilter() {
  let held = '';
  let state: 'start' | 'thought' | 'text' = 'start';
  let close = /$/;
  let hadThought = false;
  const cut = (length: number): string => {
    const part = held.slice(0, length);
    held = held.slice(length);
    return part;
  };
  /** Determines what begins here; false while it may still be either. */
  const detectTag = (): boolean => {
    const beginning = held.slice(0, MOST_BEFORE_OPEN);
    const [tag, name] = OPEN.exec(beginning) ?? [];
    if (tag === undefined && held.length < MOST_BEFORE_OPEN && MAYBE_OPEN.test(beginning)) return false;
    state = tag === undefined ? 'text' : 'thought';
    if (tag === undefined) held = hadThought ? held.trimStart() : held;
    else cut(tag.length);
    hadThought ||= tag !== undefined;
    close = new RegExp(`</${name}>`, 'i');
    return true;
  };
  /** Consumes the next piece of reasoning. */
  const think = (): string => {
    const end = close.exec(held);
    // The end of the held text may be the first part of the close tag.
    if (!end) return cut(Math.max(0, held.length - LONGEST_CLOSE));
    const thought = cut(end.index);
    cut(end[0].length);
    state = 'start';
    return thought;
  };
  return {
    push(text: string): Sorted {
      held += text;
      let thought = '';
      do {
        if (state === 'start' && !detectTag()) break;
        if (state === 'thought') thought += think();
      } while (state === 'start');
      return { thought, text: state === 'text' ? cut(held.length) : '' };
    },
    /** The rest of the text when the answer ends. Unclosed reasoning is reasoning. */
    end(): Sorted {
      if (state === 'thought') return { thought: cut(held.length), text: '' };
      return { thought: '', text: hadThought ? cut(held.length).trimStart() : cut(held.length) };
    },
  };
}

/** Reasoning whose open tag is missing; null when all of the text is the answer. */
export function splitLoneClose(text: string): Sorted | null {
  const close = LONE_CLOSE.exec(text);
  if (!close || /<think>/i.test(text.slice(0, close.index))) return null;
  return { thought: text.slice(0, close.index), text: text.slice(close.index + close[0].length) };
}
