import type { Json } from '../../shared/json.js';
import { end as endOf, start } from '../parse/markdown.js';
import type { OptionLine } from '../parse/options.js';
import { RAW_OPTIONS } from '../parse/step-options.js';
import { editStep } from './edit-flow.js';
import type { StepPart } from './flow-map.js';
import { keepSpelling } from './keep-spelling.js';
import { printOption } from './print-option.js';
import { type Change, type Edited, gapBefore, lineEndOf, lineStart, lineStop, nextLine } from './splice.js';

type Options = Readonly<Record<string, Json>>;

/**
 * Sets options of step `n`, each on its own line; null removes one. `when`, `until` and `each` are CEL sources. An
 * option that already has the value stays as written.
 */
export function setOptions(text: string, n: number, options: Options): Edited {
  return editStep(text, n, (step, { text: plain }) => {
    if (!step.sound) return 'Only some items of the list under this step are options: fix it first.';
    const wrong = Object.keys(options).find((key) => !/^[a-z][a-z_]*$/.test(key));
    if (wrong !== undefined) return `\`${wrong}\` cannot be an option.`;
    const printed = new Map<string, string>();
    for (const [key, value] of Object.entries(options)) {
      if (value === null) continue;
      const option = printOption(key, value);
      if (option === undefined) return `\`${key}\` takes an expression on one line.`;
      const now = step.options.find((line) => line.key === key)?.value;
      printed.set(key, now === undefined || RAW_OPTIONS.has(key) ? option : keepSpelling(now, value, option));
    }
    return {
      changes: changesOf(plain, step, { options, printed }),
      expect: (content) => ({ ...content, options: merged(content.options, { options, printed }) }),
      otherwise: 'The options cannot be changed here without changing what the step says: edit the file by hand.',
    };
  });
}

interface Wanted {
  readonly options: Options;
  readonly printed: ReadonlyMap<string, string>;
}

function merged(
  before: Readonly<Record<string, string>>,
  { options, printed }: Wanted,
): Readonly<Record<string, string>> {
  const kept = Object.entries(before).filter(([key]) => options[key] !== null);
  return { ...Object.fromEntries(kept), ...Object.fromEntries(printed) };
}

function changesOf(text: string, step: StepPart, { options, printed }: Wanted): Change[] {
  const known = step.options.filter(({ key }) => key in options);
  const added = [...printed].filter(([key]) => !known.some((option) => option.key === key));
  const changes = known.flatMap((option) => changeLine(text, option, printed.get(option.key)));
  const gone = known.filter(({ key }) => !printed.has(key)).length;
  if (added.length === 0) return gone > 0 && gone === step.options.length ? [withoutList(text, step)] : changes;
  const lines = (marker: string) => added.map(([key, value]) => `${marker}${key}: ${value}`);
  return [...changes, step.list ? behindList(text, step, lines) : newList(text, step, lines)];
}

function changeLine(
  text: string,
  { offset, valueOffset, value, end }: OptionLine,
  printed: string | undefined,
): Change[] {
  if (printed === undefined) return [{ start: lineStart(text, offset), end: nextLine(text, end), text: '' }];
  if (value === printed) return [];
  // An option without a value ends with its colon.
  const gap = text[valueOffset - 1] === ':' ? ' ' : '';
  return [{ start: valueOffset, end, text: gap + printed }];
}

type Lines = (marker: string) => readonly string[];

/** Adds new options after the last one, with its indent and list mark. */
function behindList(text: string, step: StepPart, lines: Lines): Change {
  const lineEnd = lineEndOf(text);
  const last = step.options.at(-1);
  const offset = last?.offset ?? step.start;
  const at = nextLine(text, last?.end ?? offset);
  const added = lines(text.slice(lineStart(text, offset), offset)).map((line) => line + lineEnd);
  // The last line of a file may have no line end.
  const before = /[\r\n]$/.test(text.slice(0, at)) ? '' : lineEnd;
  return { start: at, end: at, text: before + added.join('') };
}

/** Places a new list right under the heading, with a list mark that the next list does not use. */
function newList(text: string, step: StepPart, lines: Lines): Change {
  const lineEnd = lineEndOf(text);
  const next = step.section.blocks.find((block) => !step.comments.includes(block));
  const marker = next?.type === 'list' && text[start(next)] === '-' ? '* ' : '- ';
  const at = endOf(step.section.heading);
  const rest = text.slice(at, step.end);
  const gap = gapBefore(rest, lineEnd);
  return { start: at, end: at, text: lineEnd + lineEnd + lines(marker).join(lineEnd) + gap };
}

/** Removes the whole list, with one of the blank lines around it. */
function withoutList(text: string, step: StepPart): Change {
  const first = step.options[0]?.offset ?? step.start;
  const last = step.options.at(-1)?.end ?? first;
  const after = nextLine(text, last);
  const blank = lineStop(text, after);
  const more = after < step.end && text.slice(after, blank).trim() === '';
  return { start: lineStart(text, first), end: more ? nextLine(text, after) : after, text: '' };
}
