import { isIP } from 'node:net';
import { getConnInfo } from '@hono/node-server/conninfo';
import type { Context } from 'hono';
import type { AppEnv } from '../env.js';

/**
 * Where the request came from. Behind a proxy that we were told to trust it is the right-most hop, the one that proxy
 * wrote itself; whatever stands left of it is the caller's own word. A hop that is no address says nothing.
 */
export function clientAddress(c: Context<AppEnv>): string | null {
  const peer = c.env?.incoming ? (getConnInfo(c).remote.address ?? null) : null;
  if (!c.var.deps.config.trustProxy) return peer;
  return addressOf(c.req.header('x-forwarded-for')?.split(',').at(-1)?.trim()) ?? peer;
}

/** Some proxies write the port as well: `192.0.2.1:50123`, `[2001:db8::1]:50123`. */
function addressOf(hop: string | undefined): string | null {
  const plain = hop?.replace(/^\[([^\]]*)\](:\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1');
  return plain !== undefined && isIP(plain) !== 0 ? plain : null;
}
