import type { ReadGroup, ReadStep } from './flow-model.js';
import type { IdPlace, StepScope } from './step-scope.js';

const JUMPS = ['back_to', 'on_fail', 'on_reject', 'on_timeout'] as const;

/**
 * Why a node cannot read a step, as a sentence; null when it can: the step comes before it, or a later step sends the
 * flow back, so that the node runs again when the step has a result.
 */
export function forwardRead(reader: ReadStep | ReadGroup, id: string, scope: StepScope): string | null {
  const from = scope.get(reader.id);
  const to = scope.get(id);
  if (from === undefined || to === undefined || to.index < from.index) return null;
  if (goesBack({ from, to }, scope)) return null;
  if (to.node === reader) return `\`${id}\` is this very step, which has no result yet.`;
  if (to.index > from.index) return `\`${id}\` comes after this step and has no result yet.`;
  return to.node.kind === 'group'
    ? `\`${id}\` is the group of this step, and has not ended yet.`
    : `\`${id}\` runs in this group, and may have no result yet.`;
}

/** Whether a step sends the flow from behind what is read to before the reader. */
function goesBack({ from, to }: { readonly from: IdPlace; readonly to: IdPlace }, scope: StepScope): boolean {
  for (const { node, index, group } of scope.values()) {
    if (node.kind === 'group') continue;
    // What a misspelt jump means is not known, and it is reported itself.
    if (JUMPS.some((jump) => node.options.misspelt(jump) !== undefined)) return true;
    const targets = JUMPS.flatMap((jump) => node.options.values[jump]?.name ?? []);
    // A branch goes back to itself only.
    const reaches = (target: IdPlace) =>
      group === undefined ? target.index <= from.index && index >= to.index : node === from.node && node === to.node;
    for (const name of targets) {
      const target = scope.get(name);
      if (target && reaches(target)) return true;
    }
  }
  return false;
}
