import type { Context } from 'hono';
import { findTarget } from '../../../runs/index.js';
import { findDelivery, findHook, type HookPath } from '../../../triggers/index.js';
import type { GuardedEnv } from '../../env.js';

/** Finds the flow of the path before a refusal for the role. */
export async function findHookOfPath(c: Context<GuardedEnv>): Promise<void> {
  const { ws: workspace = '', flow = '' } = c.req.param() as Readonly<Record<string, string>>;
  await findTarget(c.var.deps.db, c.var.caller, { workspace, target: `flows/${flow}` });
}

/** Finds the flow and its delivery. */
export async function findDeliveryOfPath(c: Context<GuardedEnv>): Promise<void> {
  const { ws: workspace = '', flow = '', id = '' } = c.req.param() as Readonly<Record<string, string>>;
  await findDelivery(c.var.deps, c.var.caller, { workspace, flow, id });
}

/** Checks that the token belongs to this flow before the input is validated. */
export async function findHookOfToken(c: Context<GuardedEnv>): Promise<void> {
  await findHook(c.var.deps, hookPathOf(c));
}

export function hookPathOf(c: Context): HookPath {
  const { tenant = '', ws: workspace = '', flow = '' } = c.req.param() as Readonly<Record<string, string>>;
  return { tenant, workspace, flow, token: c.req.query('token') ?? '' };
}
