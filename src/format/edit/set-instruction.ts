import { end, start } from '../parse/markdown.js';
import { readProse } from '../parse/prose.js';
import { openSource, unixLines } from '../parse/source.js';
import { editStep, UNCHANGED } from './edit-flow.js';
import { instructionOf, instructionRuns, type Run, type StepPart } from './flow-map.js';
import { isClosed } from './is-closed.js';
import { type Change, type Edited, gapBefore, lineEndOf, lineStart, nextLine, withLineEnds } from './splice.js';

const OTHERWISE =
  'This text would change more than the instruction: it must hold no `##` or `###` heading, close its fences and comments, and not begin with a list.';

/** Replaces the instructions of step `n`. Heading, options, schemas and the comments between them stay. */
export function setInstruction(text: string, n: number, instruction: string): Edited {
  return editStep(text, n, (step, { text: plain }) => {
    const wanted = withLineEnds(instruction, lineEndOf(plain))
      .replace(/^(?:[ \t]*[\r\n])+/, '')
      .trimEnd();
    // Otherwise a text around a schema would move before the schema.
    if (unixLines(wanted) === unixLines(instructionOf(plain, step).trimEnd())) return UNCHANGED;
    if (!isClosed(wanted)) return OTHERWISE;
    const source = openSource('', wanted);
    return {
      changes: changesOf(plain, step, wanted),
      expect: (content) => ({ ...content, instruction: readProse(source, [{ start: 0, end: wanted.length }]).pieces }),
      otherwise: OTHERWISE,
    };
  });
}

function changesOf(text: string, step: StepPart, wanted: string): Change[] {
  const [first, ...others] = instructionRuns(step);
  if (!first) return wanted === '' ? [] : [added(text, step, wanted)];
  const removed = others.map((run) => removal(text, run));
  if (wanted === '') return [removal(text, first), ...removed];
  return [{ start: lineStart(text, start(first.from)), end: end(first.to), text: wanted }, ...removed];
}

/** Removes the lines and the blank lines after them. */
function removal(text: string, { from, to }: Run): Change {
  let stop = nextLine(text, end(to));
  const blank = /[ \t]*(?:\r\n|\n|\r)/y;
  for (blank.lastIndex = stop; blank.test(text); ) stop = blank.lastIndex;
  return { start: lineStart(text, start(from)), end: stop, text: '' };
}

/** For a step without instructions, places the text after its options. */
function added(text: string, step: StepPart, wanted: string): Change {
  const lineEnd = lineEndOf(text);
  const at = end(step.list ?? step.section.heading);
  const rest = text.slice(at, step.end);
  const gap = gapBefore(rest, lineEnd);
  return { start: at, end: at, text: lineEnd + lineEnd + wanted + gap };
}
