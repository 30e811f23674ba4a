import type { Context } from 'hono';
import { findTarget } from '../../../runs/index.js';
import { findDelivery } from '../../../triggers/index.js';
import type { GuardedEnv } from '../../env.js';

/** Whether the flow of the path is there, before anybody is refused for a role. */
export async function findHookOfPath(c: Context<GuardedEnv>): Promise<void> {
  const { ws: workspace = '', flow = '' } = c.req.param() as Readonly<Record<string, string>>;
  await findTarget(c.var.deps.db, c.var.caller, { workspace, target: `flows/${flow}` });
}

/** Likewise the flow and its delivery. */
export async function findDeliveryOfPath(c: Context<GuardedEnv>): Promise<void> {
  const { ws: workspace = '', flow = '', id = '' } = c.req.param() as Readonly<Record<string, string>>;
  await findDelivery(c.var.deps, c.var.caller, { workspace, flow, id });
}
