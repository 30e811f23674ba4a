export type { DeployResult } from './apply-tree.js';
export { type DeployInput, deployTree } from './deploy-tree.js';
export { moveSource, removeSource, type SourceEdit, writeSource } from './edit-source.js';
export { type ChangeList, type ChangeSummary, listChanges } from './list-changes.js';
export type { Precondition } from './preconditions.js';
export { type ChangeDetail, type FileChange, readChange } from './read-change.js';
export {
  readSourceFile,
  readSourceTree,
  type SourceContent,
  type SourceEntry,
  type SourceTree,
} from './read-source.js';
export { type MemoryOutcome, type MemoryWrite, writeMemory } from './write-memory.js';
