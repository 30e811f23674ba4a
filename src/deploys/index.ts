export type { DeployResult } from './apply-tree.js';
export { deployTree } from './deploy-tree.js';
export { moveSource, removeSource, writeSource } from './edit-source.js';
export { type EditedTree, editedTree, editTree, filesWith } from './edit-tree.js';
export { listChanges } from './list-changes.js';
export { checkPrecondition, type Precondition } from './preconditions.js';
export { readChange } from './read-change.js';
export { readSourceFile, readSourceTree, type SourceContent } from './read-source.js';
export { type MemoryOutcome, writeMemory } from './write-memory.js';
