import { createHash } from 'node:crypto';
import type { AgentTool, Operation } from './contract.js';

/** The longest name that every provider accepts. */
const MAX_NAME = 64;

/** What a grant, a step's `tools`, a denial or an approval names: a whole tool, or one operation of it. */
export interface Named {
  /** The name in files. */
  readonly ref: string;
  /** The name that the model sees. */
  readonly name: string;
}

/**
 * True when a name in a file means this tool: the whole tool, the operation by its own name, or the name that the model
 * sees.
 */
export function means(word: string, { ref, name }: Named): boolean {
  return word === ref || word === toolOf(ref) || word === name || word.replace('.', '__') === name;
}

/** `tool` of `tool.operation`. */
export function toolOf(ref: string): string {
  const dot = ref.indexOf('.');
  return dot < 0 ? ref : ref.slice(0, dot);
}

/** A tool's operations under the names in files and for models, each unique. */
export function nameOperations(tool: string, operations: readonly Operation[]): AgentTool[] {
  const taken = new Set<string>();
  // Operations whose own name is valid and free keep it, whatever comes before them.
  const names = new Map<Operation, string>();
  const inOrder = [...operations].sort((a, b) => Number(isPlain(tool, b)) - Number(isPlain(tool, a)));
  for (const one of inOrder) names.set(one, uniqueName(tool, one.operation, taken));
  return operations.map(({ operation, description, parameters, ...rest }, index) => ({
    ...rest,
    ref: operation === null ? tool : `${tool}.${operation}`,
    spec: { name: names.get(operations[index] as Operation) ?? tool, description, parameters },
  }));
}

function isPlain(tool: string, { operation }: Operation): boolean {
  return operation === null || (/^[\w-]+$/.test(operation) && fits(`${tool}__${operation}`));
}

function uniqueName(tool: string, operation: string | null, taken: Set<string>): string {
  const full = operation === null ? tool : `${tool}__${operation.replace(/[^\w-]+/g, '_')}`;
  let name = full;
  for (let nth = 0; taken.has(name) || !fits(name); nth += 1) {
    const mark = createHash('sha256')
      .update(nth === 0 ? (operation ?? '') : `${operation} ${nth}`)
      .digest('hex')
      .slice(0, 8);
    name = `${full.slice(0, MAX_NAME - mark.length - 1)}_${mark}`;
  }
  taken.add(name);
  return name;
}

function fits(name: string): boolean {
  return name.length <= MAX_NAME;
}
