import type { Json } from '../shared/json.js';
import { Lru } from '../shared/lru.js';
import { checkTree } from './check-tree.js';
import type { SharedFiles } from './checker.js';
import { type AddedCase, addCase, type NewCase } from './edit/add-case.js';
import { changeFlow, type FlowChange } from './edit/change-flow.js';
import { setKeys } from './edit/set-keys.js';
import type { Edited } from './edit/splice.js';
import type { CheckContext, Checked, SourceFile } from './model.js';
import { type DocumentRead, readTree } from './openapi/index.js';
import { type FlowText, readFlowText } from './read-flow-text.js';
import { type CheckedShelf, checkShelf, EMPTY_SHELF, readShelf, type Shelf } from './shelf.js';

export interface TreeToCheck {
  readonly files: readonly SourceFile[];
  readonly context: CheckContext;
  /** The key of a library that was taken before; empty for none. */
  readonly shelf: string;
}

/** As many libraries stay read: both sides count the same uses of them. */
export const SHELVES = 3;
const shelves = new Lru<string, Shelf>(SHELVES);

/** All that reads users' text at length, and so is done off the event loop: what goes in and out is plain data. */
export const JOBS = {
  check: ({ files, context, shelf }: TreeToCheck): Checked => checkTree(files, context, takenShelf(shelf)),
  'take-shelf': ({ key, files }: SharedFiles): true => {
    shelves.set(key, readShelf(files));
    return true;
  },
  'check-shelf': ({ files }: { readonly files: readonly SourceFile[] }): CheckedShelf => checkShelf(files),
  'read-flow': ({ text }: { readonly text: string }): FlowText | null => readFlowText(text),
  'change-flow': ({ text, change }: { readonly text: string; readonly change: FlowChange }): Edited =>
    changeFlow(text, change),
  'set-keys': ({ text, keys }: { readonly text: string; readonly keys: Readonly<Record<string, Json>> }): Edited =>
    setKeys(text, keys),
  'add-case': ({ text, wanted }: { readonly text: string | null; readonly wanted: NewCase }): AddedCase =>
    addCase(text, wanted),
  'read-tree': ({ text }: { readonly text: string }): DocumentRead => readTree(text),
} as const;

function takenShelf(key: string): Shelf {
  const shelf = key === '' ? EMPTY_SHELF : shelves.get(key);
  if (!shelf) throw new Error(`the library ${key} was never taken`);
  return shelf;
}

export type JobName = keyof typeof JOBS;
export type JobInput<K extends JobName> = Parameters<(typeof JOBS)[K]>[0];
export type JobOutput<K extends JobName> = ReturnType<(typeof JOBS)[K]>;

export function runJob<K extends JobName>(name: K, input: JobInput<K>): JobOutput<K> {
  const job = JOBS[name] as (input: JobInput<K>) => JobOutput<K>;
  return job(input);
}
