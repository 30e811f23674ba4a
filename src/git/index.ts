export { blobId } from './blob-id.js';
export { unwritablePaths } from './check-paths.js';
export { readBlob, readCommit, readCommitFiles } from './read-commit.js';
export { MAIN, moveRef, readRef } from './refs.js';
export { openRepository, type Repository, removeRepository, repositoryFolder } from './repository.js';
export { treeId } from './tree-id.js';
export { writeCommit } from './write-commit.js';
export { writeBlobs, writeTree } from './write-tree.js';
