import type { ReadGroup, ReadStep } from './flow-model.js';
import type { IdPlace, StepScope } from './step-scope.js';

const JUMPS = ['back_to', 'on_fail', 'on_reject', 'on_timeout'] as const;

/**
 * Why a node cannot read a step, as a sentence; null when it can. It can when the step comes before it, or when a later
 * step sends the flow back, so that the node runs again after the step.
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

/** True if steps send the flow from after the read step to before the reader, in one or several jumps. */
function goesBack({ from, to }: { readonly from: IdPlace; readonly to: IdPlace }, scope: StepScope): boolean {
  const jumps = [...scope.values()].filter(({ node }) => node.kind !== 'group');
  // The target of a misspelt jump is unknown. The misspelling has its own report.
  const isUnknown = ({ node }: IdPlace) =>
    node.kind !== 'group' && JUMPS.some((jump) => node.options.misspelt(jump) !== undefined);
  if (jumps.some(isUnknown)) return true;
  const targetsOf = ({ node }: IdPlace) =>
    node.kind === 'group' ? [] : JUMPS.flatMap((jump) => scope.get(node.options.values[jump]?.name ?? '') ?? []);
  // A branch can go back to itself only.
  if (from.node === to.node && jumps.some((place) => place.node === from.node && targetsOf(place).includes(from)))
    return true;
  // Steps from here on run after the read step. Each of them may send the flow further back.
  let reached = to.index;
  for (let before = Number.POSITIVE_INFINITY; reached < before; ) {
    before = reached;
    for (const place of jumps.filter(({ index, group }) => group === undefined && index >= before)) {
      for (const target of targetsOf(place)) reached = Math.min(reached, target.index);
    }
  }
  return reached < to.index && reached <= from.index;
}
