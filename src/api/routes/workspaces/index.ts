import type { Route } from '../../define-route.js';
import { changeWorkspace } from './change-workspace.js';
import { createWorkspace } from './create-workspace.js';
import { deleteWorkspace } from './delete-workspace.js';
import { listWorkspaces } from './list-workspaces.js';
import { readWorkspace } from './read-workspace.js';

export const workspaceRoutes: readonly Route[] = [
  listWorkspaces,
  createWorkspace,
  readWorkspace,
  changeWorkspace,
  deleteWorkspace,
];
