import type { ReadFlow, ReadGroup, ReadStep } from './flow-model.js';

/** The position of a node: the index of its top-level node, from 0; a branch has its group's index. */
export interface IdPlace {
  readonly node: ReadStep | ReadGroup;
  readonly index: number;
  readonly group?: ReadGroup;
}

/** The nodes of a flow by id, including groups. Of two with the same id, the first. */
export type StepScope = ReadonlyMap<string, IdPlace>;

export function scopeOf({ nodes }: ReadFlow): StepScope {
  const scope = new Map<string, IdPlace>();
  const add = (place: IdPlace) => {
    if (!scope.has(place.node.id)) scope.set(place.node.id, place);
  };
  for (const [index, node] of nodes.entries()) {
    add({ node, index });
    if (node.kind === 'group') for (const branch of node.branches) add({ node: branch, index, group: node });
  }
  return scope;
}

/** Every step and group in document order. */
export function allNodes({ nodes }: ReadFlow): (ReadStep | ReadGroup)[] {
  return nodes.flatMap((node) => (node.kind === 'group' ? [node, ...node.branches] : [node]));
}
