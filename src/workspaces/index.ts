export { findWorkspace, type WorkspaceRow } from './find-workspace.js';
