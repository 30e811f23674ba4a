import type { ReadFlow, ReadGroup, ReadStep } from './flow-model.js';

/** Where an id stands: top-level nodes count from 0; a branch has its group's place. */
export interface IdPlace {
  readonly node: ReadStep | ReadGroup;
  readonly index: number;
  readonly group?: ReadGroup;
}

/** The ids of a flow, groups included; of two equal ones the first. */
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
