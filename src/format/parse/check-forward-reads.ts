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

/** Whether steps send the flow from behind what is read to before the reader, in one jump or in several. */
function goesBack({ from, to }: { readonly from: IdPlace; readonly to: IdPlace }, scope: StepScope): boolean {
  const jumps = [...scope.values()].filter(({ node }) => node.kind !== 'group');
  // What a misspelt jump means is not known, and it is reported itself.
  const isUnknown = ({ node }: IdPlace) =>
    node.kind !== 'group' && JUMPS.some((jump) => node.options.misspelt(jump) !== undefined);
  if (jumps.some(isUnknown)) return true;
  const targetsOf = ({ node }: IdPlace) =>
    node.kind === 'group' ? [] : JUMPS.flatMap((jump) => scope.get(node.options.values[jump]?.name ?? '') ?? []);
  // A branch goes back to itself only.
  if (from.node === to.node && jumps.some((place) => place.node === from.node && targetsOf(place).includes(from)))
    return true;
  // The steps from here on run after what is read; each of them may send the flow further back.
  let reached = to.index;
  for (let before = Number.POSITIVE_INFINITY; reached < before; ) {
    before = reached;
    for (const place of jumps.filter(({ index, group }) => group === undefined && index >= before)) {
      for (const target of targetsOf(place)) reached = Math.min(reached, target.index);
    }
  }
  return reached < to.index && reached <= from.index;
}
