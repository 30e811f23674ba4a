import { toPlainText } from './markdown.js';
import { unixLines } from './source.js';

export interface HeadingWord {
  readonly name: string;
  /** Into the text that the heading was read from. */
  readonly offset: number;
}

export interface ReadHeading {
  readonly title: string;
  readonly agent?: HeadingWord;
  /** Further `@name` words outside code, or before the last word. */
  readonly others: readonly HeadingWord[];
}

const CODE_OR_COMMENT = /(`+)(?!`)[\s\S]*?(?<!`)\1(?!`)|<!--[\s\S]*?-->/g;
const AGENT_WORD = /(?<![^\s])@([A-Za-z0-9][\w.-]*)(?=\s|$)/g;

/** Titles are shorter. The search for comments takes time by the square of the length. */
const MAX_HEADING = 2_000;

/** Reads a heading's text (its source, `#` included): the title and the `@agent` at its end. */
export function readHeading(source: string, offset: number): ReadHeading {
  const raw = source.slice(0, MAX_HEADING);
  const open = /^ {0,3}#{1,6}[ \t]*/.exec(raw)?.[0].length ?? 0;
  const content = raw.slice(open).replace(/(?:^|[ \t]+)#+[ \t]*$/, '');
  // Blanked, not removed, so that offsets stay the same. Comments are not part of a title.
  const seen = content.replace(CODE_OR_COMMENT, (part) => ' '.repeat(part.length));
  const words = [...seen.matchAll(AGENT_WORD)].map((match) => ({ name: match[1] ?? '', at: match.index }));
  const last = words.at(-1);
  const isLast = last !== undefined && seen.slice(last.at).trim() === `@${last.name}` && endsWith(content, last.at);
  const without = isLast ? content.slice(0, last.at) + content.slice(last.at + last.name.length + 1) : content;
  const title = toPlainText(unixLines(without.replace(/<!--[\s\S]*?-->/g, ' '))) || (isLast ? last.name : '');
  const place = ({ name, at }: { name: string; at: number }) => ({ name, offset: offset + open + at });
  if (!isLast) return { title, others: words.map(place) };
  return { title, agent: place(last), others: words.slice(0, -1).map(place) };
}

/** True if only comments follow: a name with code after it is not the last word. */
function endsWith(content: string, at: number): boolean {
  return !content
    .slice(at)
    .replace(/<!--[\s\S]*?-->/g, '')
    .includes('`');
}
