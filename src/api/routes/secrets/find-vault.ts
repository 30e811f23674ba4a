import type { Context } from 'hono';
import { findWorkspace } from '../../../people/index.js';
import type { GuardedEnv } from '../../env.js';

/** Finds the workspace of `?workspace=`, since a missing one is refused before anything else. */
export async function findVault(c: Context<GuardedEnv>): Promise<void> {
  const workspace = c.req.query('workspace');
  if (workspace !== undefined) await findWorkspace(c.var.deps.db, c.var.caller, workspace);
}
