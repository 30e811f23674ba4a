export { unwritablePaths } from './check-paths.js';
export { countDistance, type Distance, diffCommits, mergeBase, objectSizes, readTags } from './compare.js';
export type { MarkedFile } from './folders.js';
export { readKnownCommit } from './known-commit.js';
export { mergeCommits } from './merge.js';
export {
  adoptPack,
  type KeptPack,
  loadPack,
  makePack,
  openQuarantine,
  packIn,
  type Quarantine,
  sweepQuarantine,
} from './packs.js';
export { FLUSH, pktLine, WireFault } from './pkt-line.js';
export { type MirrorCredential, pushMirror } from './push-mirror.js';
export { type PushRequest, type RefCommand, readPushRequest } from './push-request.js';
export { type Commit, hasCommit, readCommit } from './read-commit.js';
export {
  type ListedFile,
  listTree,
  readObjects,
  readTreePaths,
  type TreeBudget,
  type TreeFault,
  type TreeListing,
} from './read-tree.js';
export { discardPack, receivePack } from './receive-pack.js';
export { isAncestor, knownObjects, listRefs, MAIN, moveRef, readRef, removeRef, setRefs } from './refs.js';
export { type GitObject, openRepository, type Repository, removeRepository, repositoryFolder } from './repository.js';
export { endOf, GitFailed, runGit, spawnGit } from './run-git.js';
export { countObjects, looksUntidy, tidyRepository } from './tidy.js';
export { type AppendedCommit, appendCommits, writeCommit } from './write-commit.js';
export { blobId, treeId, writeBlobs, writeTree } from './write-tree.js';
