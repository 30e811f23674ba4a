export { alignMain } from './align-main.js';
export { type CreateWorkspaceInput, createWorkspace } from './create-workspace.js';
export { type DeletedWorkspace, deleteWorkspace } from './delete-workspace.js';
export { findWorkspace, type WorkspaceRow } from './find-workspace.js';
export { type LiveRun, liveRuns } from './live-runs.js';
export { type LiveTree, readLiveTree, treeAfter, visibleTree } from './live-tree.js';
export {
  diffTrees,
  isEmptyDiff,
  type ManifestEntry,
  parseManifest,
  type RevisionIndex,
  type Tree,
  type TreeDiff,
  type Writer,
} from './manifest.js';
export { type LivePlan, livePlan, loadPlan } from './plans.js';
export { type PreparedTree, prepareTree, readLivePaths } from './prepare-tree.js';
export { readBlobs } from './read-blobs.js';
export { listWorkspaces, readWorkspace, type WorkspaceList, type WorkspaceSummary } from './read-workspace.js';
export { listRunFiles, type RunFileInfo, type RunView, readRunFile } from './run-files.js';
export { TEMPLATES, type Template } from './templates.js';
export { type ChangeInput, writeChange } from './write-change.js';
export { type RevisionInput, type WrittenRevision, writeRevision } from './write-revision.js';
