import type { Context } from 'hono';
import { findEval } from '../../../evals/index.js';
import type { GuardedEnv } from '../../env.js';

/** Finds the eval of the path: a missing object takes precedence over an invalid body. */
export function findEvalOfPath(c: Context<GuardedEnv>): Promise<unknown> {
  const at = { workspace: c.req.param('ws') ?? '', eval: c.req.param('eval') ?? '' };
  return findEval(c.var.deps.db, c.var.caller, at);
}
