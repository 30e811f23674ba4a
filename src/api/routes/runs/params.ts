import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { findRun, findTarget } from '../../../runs/index.js';
import type { GuardedEnv } from '../../env.js';

/** A name in a path; the verb checks whether it exists. */
export function nameParam(description: string) {
  return z.string().min(1).max(255).describe(description);
}

/** Finds the run of the path: a missing object takes precedence over an invalid body. */
export function findRunOfPath(c: Context<GuardedEnv>): Promise<void> {
  return findRun(c.var.deps, c.var.caller, { workspace: c.req.param('ws') ?? '', runId: c.req.param('id') ?? '' });
}

/** The flow or the agent of the path in the live revision. */
export async function findTargetOfPath(c: Context<GuardedEnv>): Promise<void> {
  const flow = c.req.param('flow');
  const target = flow === undefined ? `agents/${c.req.param('agent') ?? ''}` : `flows/${flow}`;
  await findTarget(c.var.deps.db, c.var.caller, { workspace: c.req.param('ws') ?? '', target });
}
