export { keptMemory } from './agent-memory.js';
export { alignMain, alignRefs } from './align-refs.js';
export { checkWorkspaceName, createWorkspace } from './create-workspace.js';
export { deleteWorkspace } from './delete-workspace.js';
export { clearErased, type Erased, eraseWorkspaces, findGone } from './erase-workspaces.js';
export { findWorkspace, lockWorkspace, type WorkspaceRow } from './find-workspace.js';
export { inTurn } from './in-turn.js';
export {
  ACCOUNT_FILE,
  type LibraryIndex,
  type LiveLibrary,
  type LiveShared,
  libraryId,
  lockLibrary,
  readLiveLibrary,
} from './library-tree.js';
export { type LiveRun, liveRuns } from './live-runs.js';
export { type LiveTree, readLiveCommit, readLiveTree, treeAfter, visibleTree } from './live-tree.js';
export {
  diffMarkedTrees,
  diffTrees,
  isEmptyDiff,
  type ManifestEntry,
  parseManifest,
  type TreeDiff,
  type Writer,
} from './manifest.js';
export { MEMORY_REF } from './memory-ref.js';
export { readPreview, requireNoPreview } from './of-preview.js';
export { dropPack, linkPack, recordLoadedPack, type StoredPack, storePack, sweepPacks } from './packs.js';
export { type LivePlan, livePlan, loadPlan, pinnedPlan } from './plans.js';
export { type InReach, type PreparedFile, type PreparedTree, prepareTree, readInReach } from './prepare-tree.js';
export { freePreviewName, previewNames } from './preview-name.js';
export { chainOf, listens, raiseEvent } from './raise-event.js';
export { readBlobs } from './read-blobs.js';
export { listWorkspaces, readWorkspace } from './read-workspace.js';
export { deleteRef, listStoredRefs, type StoredRef, setRef } from './refs.js';
export { urlIssues } from './refuse-urls.js';
export { refusedTree } from './refused-tree.js';
export { listRunFiles, type RunView, readRunBlobs, readRunFile } from './run-files.js';
export { type IndexEntry, listIndexed } from './run-index.js';
export { RUN_TABLES } from './run-tables.js';
export { type OnStale, StalePlan } from './stale-plan.js';
export { digestPlan, storePlan, storePlans } from './store-plan.js';
export { markPrograms, type ReadyCommit, storeRevision } from './store-revision.js';
export { TEMPLATES } from './templates.js';
export { type ChangeInput, writeChange } from './write-change.js';
export { type RevisionInput, writeRevision } from './write-revision.js';
