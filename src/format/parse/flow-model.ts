import type { JsonObject } from '../../shared/json.js';
import type { FLOW_KEYS } from './keys/flow-keys.js';
import type { Prose } from './prose.js';
import type { KeyValues } from './read-keys.js';
import type { Ref } from './reader.js';
import type { GROUP_OPTIONS, STEP_OPTIONS } from './step-options.js';

/** A step as its file has it; places are offsets. */
export interface ReadStep {
  readonly kind: 'step';
  readonly n: number;
  readonly id: string;
  /** The id that earlier versions derived from the title. It means this step, unless it is the id of another step. */
  readonly oldId?: string;
  readonly title: string;
  readonly offset: number;
  readonly agent?: Ref;
  /** An `@name` that is not the last word of the heading and therefore not an agent. */
  readonly strayAgent?: Ref;
  readonly options: KeyValues<typeof STEP_OPTIONS>;
  readonly schema?: JsonObject;
  readonly form?: JsonObject;
  /** Their offset. */
  readonly schemaAt: number;
  readonly formAt: number;
  readonly instruction: Prose;
}

export interface ReadGroup {
  readonly kind: 'group';
  readonly id: string;
  readonly oldId?: string;
  readonly title: string;
  readonly offset: number;
  readonly options: KeyValues<typeof GROUP_OPTIONS>;
  readonly preface: Prose;
  readonly branches: readonly ReadStep[];
}

export type ReadNode = ReadStep | ReadGroup;

export interface ReadFlow {
  readonly kind: 'flow';
  readonly name: string;
  readonly title?: string;
  readonly keys: KeyValues<typeof FLOW_KEYS>;
  readonly brief: Prose;
  readonly nodes: readonly ReadNode[];
}

export function stepsOf(nodes: readonly ReadNode[]): ReadStep[] {
  return nodes.flatMap((node) => (node.kind === 'group' ? node.branches : [node]));
}
