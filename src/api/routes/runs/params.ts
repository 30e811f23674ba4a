import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { findRun, findTarget } from '../../../runs/index.js';
import type { GuardedEnv } from '../../env.js';

/** A name in a path; whether there is such a thing is the verb's answer. */
export function nameParam(description: string) {
  return z.string().min(1).max(255).describe(description);
}

/** The run of the path is looked for before the body is judged: a missing thing comes first. */
export function findRunOfPath(c: Context<GuardedEnv>): Promise<void> {
  return findRun(c.var.deps, c.var.caller, { workspace: c.req.param('ws') ?? '', runId: c.req.param('id') ?? '' });
}

/** The flow or the agent of the path, as it is in the live revision. */
export async function findTargetOfPath(c: Context<GuardedEnv>): Promise<void> {
  const flow = c.req.param('flow');
  const target = flow === undefined ? `agents/${c.req.param('agent') ?? ''}` : `flows/${flow}`;
  await findTarget(c.var.deps.db, c.var.caller, { workspace: c.req.param('ws') ?? '', target });
}
