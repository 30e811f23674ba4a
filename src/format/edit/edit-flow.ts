import { canonicalJson } from '../../shared/json.js';
import { contentOf, type FlowMap, mapFlow, type PartContent, partsOf, type StepPart } from './flow-map.js';
import { behindMark, type Change, type Edited, refuse, splice } from './splice.js';

export const UNREADABLE = 'The flow cannot be read: fix the file first.';

/** The changes of one step, and how the file must read afterwards. */
export interface StepEdit {
  readonly changes: readonly Change[];
  readonly expect: (before: PartContent) => PartContent;
  /** The refusal when the file would read otherwise. */
  readonly otherwise: string;
}

/** The step already has the wanted content. */
export const UNCHANGED: StepEdit = { changes: [], expect: (content) => content, otherwise: UNREADABLE };

/**
 * Edits ranges of one step, reads the result back, and refuses when another step, or more of this one than intended,
 * would change.
 */
export function editStep(text: string, n: number, edit: (step: StepPart, map: FlowMap) => StepEdit | string): Edited {
  return behindMark(text, (plain) => {
    const map = mapFlow(plain);
    if (!map) return refuse(UNREADABLE);
    const step = map.steps[n - 1];
    if (!step) return refuse(`There is no step ${n}: the flow has ${map.steps.length}.`);
    const made = edit(step, map);
    if (typeof made === 'string') return refuse(made);
    const result = splice(plain, made.changes);
    const expected = partsOf(map).map((part) =>
      part === step ? made.expect(contentOf(plain, part)) : contentOf(plain, part),
    );
    return reads(result, expected) ? { ok: true, text: result } : refuse(made.otherwise);
  });
}

/** True if a flow's text reads exactly as expected. */
export function reads(text: string, expected: readonly PartContent[]): boolean {
  const map = mapFlow(text);
  return (
    map !== undefined && canonicalJson(partsOf(map).map((part) => contentOf(text, part))) === canonicalJson(expected)
  );
}
