import { getConnInfo } from '@hono/node-server/conninfo';
import type { Context } from 'hono';
import type { AppEnv } from '../env.js';

/**
 * Where the request came from. Behind a proxy that we were told to trust it is the right-most hop, the one that proxy
 * wrote itself; whatever stands left of it is the caller's own word.
 */
export function clientAddress(c: Context<AppEnv>): string | null {
  if (c.var.deps.config.trustProxy) {
    const hop = c.req.header('x-forwarded-for')?.split(',').at(-1)?.trim();
    if (hop) return hop.slice(0, 64);
  }
  return c.env?.incoming ? (getConnInfo(c).remote.address ?? null) : null;
}
