import type { Context } from 'hono';
import { findWorkspace } from '../../../workspaces/index.js';
import type { GuardedEnv } from '../../env.js';

/** The workspace of `?workspace=`, for the refusal that a missing one gets before any other. */
export async function findVault(c: Context<GuardedEnv>): Promise<void> {
  const workspace = c.req.query('workspace');
  if (workspace !== undefined) await findWorkspace(c.var.deps.db, c.var.caller, workspace);
}
