export type { FlowChange } from '../format/edit/change-flow.js';
export { applyTree, type Proposal, planTree, type TreeRequest } from './deploys/apply-tree.js';
export { listChanges, readChange } from './deploys/changes.js';
export { type DeployOutcome, NotDeployed, requireDeployed } from './deploys/deploy-outcome.js';
export { deployTree } from './deploys/deploy-tree.js';
export {
  type EditedTree,
  editedTree,
  editTree,
  filesWith,
  moveSource,
  readFileChanges,
  removeSource,
  writeSource,
} from './deploys/edit-source.js';
export { insertRefusal, noteRefused } from './deploys/note-refused.js';
export type { Precondition } from './deploys/preconditions.js';
export { readSourceFile, readSourceTree, type SourceContent } from './deploys/read-source.js';
export { requirePath } from './deploys/require-path.js';
export { type MemoryOutcome, writeMemory } from './deploys/write-memory.js';
export { changeFlow, deleteFlow } from './documents/change-flow.js';
export { changeWorkspace } from './documents/change-workspace.js';
export { createAgent, createAsset } from './documents/create-asset.js';
export { listAgents, listFlows, readFlow } from './documents/list-documents.js';
export { readVocabulary } from './documents/read-vocabulary.js';
export { createFlow } from './documents/write-documents.js';
export { adoptAccountFile } from './library/adopt-account-file.js';
export { changeAccount } from './library/change-account.js';
export { requireWholeAccount } from './library/change-library.js';
export { createLibraryFile, removeLibraryFile, writeLibraryFile } from './library/edit-library.js';
export { pushLibrary } from './library/push-library.js';
export {
  LIBRARY_KINDS,
  type LibraryFile,
  listLibrary,
  listLibraryChanges,
  readLibraryChange,
  readLibraryFile,
} from './library/read-library.js';
export {
  type BranchPush,
  dropPreview,
  lockPreviews,
  MAX_PREVIEWS,
  type PutPreview,
  planPreview,
  previewTurn,
  putPreview,
} from './previews.js';
export { alignMain, alignRefs } from './workspaces/align-refs.js';
export { createWorkspace } from './workspaces/create-workspace.js';
export { deleteWorkspace } from './workspaces/delete-workspace.js';
export { clearErased, findGone } from './workspaces/erase-workspaces.js';
export { inTurn } from './workspaces/in-turn.js';
export { libraryId, lockLibrary, readLiveLibrary } from './workspaces/library-tree.js';
export { type LiveTree, liveRuns, readLiveCommit, readLiveTree } from './workspaces/live-tree.js';
export { diffTrees } from './workspaces/manifest.js';
export { MEMORY_REF } from './workspaces/memory-ref.js';
export { dropPack, linkPack, recordLoadedPack, type StoredPack, storePack, sweepPacks } from './workspaces/packs.js';
export {
  type LivePlan,
  livePlan,
  loadPlan,
  type OnStale,
  pinnedPlan,
  StalePlan,
  storePlan,
} from './workspaces/plans.js';
export { type InReach, type PreparedTree, prepareTree, readInReach } from './workspaces/prepare-tree.js';
export { previewNames } from './workspaces/preview-name.js';
export { chainOf, listens, raiseEvent } from './workspaces/raise-event.js';
export { listWorkspaces, readWorkspace } from './workspaces/read-workspace.js';
export { deleteRef, listStoredRefs, setRef } from './workspaces/refs.js';
export { refusedTree } from './workspaces/refused-tree.js';
export { listRunFiles, RUN_TABLES, type RunView, readRunBlobs, readRunFile } from './workspaces/run-files.js';
export { type IndexEntry, listIndexed } from './workspaces/run-index.js';
export type { ReadyCommit } from './workspaces/store-revision.js';
export { TEMPLATES } from './workspaces/templates.js';
export { writeChange } from './workspaces/write-change.js';
