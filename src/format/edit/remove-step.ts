import { reads, UNREADABLE } from './edit-flow.js';
import { contentOf, type FlowMap, mapFlow, type Part, partsOf, type StepPart } from './flow-map.js';
import { behindMark, type Edited, lineEndOf, refuse, withoutBlankEnd } from './splice.js';

/** Removes step `n`, heading to heading, and its group if it is the only branch. */
export function removeStep(text: string, n: number): Edited {
  return behindMark(text, (plain) => {
    const map = mapFlow(plain);
    if (!map) return refuse(UNREADABLE);
    const step = map.steps[n - 1];
    if (!step) return refuse(`There is no step ${n}: the flow has ${map.steps.length}.`);
    if (map.steps.length === 1) return refuse('This is the only step, and a flow needs one: delete the flow instead.');
    const gone = removedWith(map, step);
    const start = gone[0]?.start ?? step.start;
    const result = cut(plain, start, step.end);
    const left = partsOf(map).filter((part) => !gone.includes(part));
    if (
      reads(
        result,
        left.map((part) => contentOf(plain, part)),
      )
    )
      return { ok: true, text: result };
    return refuse('The steps around this one would change with it: edit the file by hand.');
  });
}

function removedWith(map: FlowMap, step: StepPart): readonly Part[] {
  const group = map.groups.find(({ first, count }) => count === 1 && first === step.n);
  return group ? [group, step] : [step];
}

/** At the end of a file, removes the blank lines before the cut too, so that the file ends as before. */
function cut(text: string, start: number, end: number): string {
  if (end < text.length) return text.slice(0, start) + text.slice(end);
  const kept = withoutBlankEnd(text.slice(0, start));
  return kept + (/[\r\n]$/.test(text) ? lineEndOf(text) : '');
}
