import type { Json } from '../shared/json.js';
import { Lru } from '../shared/lru.js';
import { checkTree } from './check-tree.js';
import type { SharedFiles } from './checker.js';
import { type AddedCase, addCase, type NewCase } from './edit/add-case.js';
import { changeFlow, type FlowChange } from './edit/change-flow.js';
import { setKeys } from './edit/set-keys.js';
import type { Edited } from './edit/splice.js';
import { type CheckedLibrary, checkLibrary, EMPTY_LIBRARY, type ParsedLibrary, parseLibrary } from './library.js';
import type { CheckContext, Checked, SourceFile } from './model.js';
import { type DocumentRead, readTree } from './openapi/read-document.js';
import { type FlowText, readFlowText } from './read-flow-text.js';

export interface TreeToCheck {
  readonly files: readonly SourceFile[];
  readonly context: CheckContext;
  /** The key of a library that is already loaded; empty for none. */
  readonly library: string;
}

/**
 * How many libraries stay loaded. The caller and the worker thread count the same uses, so they evict the same ones.
 */
export const MAX_LIBRARIES = 3;
const libraries = new Lru<string, ParsedLibrary>(MAX_LIBRARIES);

/** Work on long text of users, which runs off the event loop. Input and output are plain data. */
export const JOBS = {
  check: ({ files, context, library }: TreeToCheck): Checked => checkTree(files, context, loadedLibrary(library)),
  'load-library': ({ key, files }: SharedFiles): true => {
    libraries.set(key, parseLibrary(files));
    return true;
  },
  'check-library': ({ files }: { readonly files: readonly SourceFile[] }): CheckedLibrary => checkLibrary(files),
  'read-flow': ({ text }: { readonly text: string }): FlowText | null => readFlowText(text),
  'change-flow': ({ text, change }: { readonly text: string; readonly change: FlowChange }): Edited =>
    changeFlow(text, change),
  'set-keys': ({ text, keys }: { readonly text: string; readonly keys: Readonly<Record<string, Json>> }): Edited =>
    setKeys(text, keys),
  'add-case': ({ text, wanted }: { readonly text: string | null; readonly wanted: NewCase }): AddedCase =>
    addCase(text, wanted),
  'read-tree': ({ text }: { readonly text: string }): DocumentRead => readTree(text),
} as const;

function loadedLibrary(key: string): ParsedLibrary {
  const library = key === '' ? EMPTY_LIBRARY : libraries.get(key);
  if (!library) throw new Error(`the library ${key} was never loaded`);
  return library;
}

export type JobName = keyof typeof JOBS;
export type JobInput<K extends JobName> = Parameters<(typeof JOBS)[K]>[0];
export type JobOutput<K extends JobName> = ReturnType<(typeof JOBS)[K]>;

export function runJob<K extends JobName>(name: K, input: JobInput<K>): JobOutput<K> {
  const job = JOBS[name] as (input: JobInput<K>) => JobOutput<K>;
  return job(input);
}
